"""A payload as bytes: a header, the FlatBuffer, and in some files constants behind it.

    0   zero   4  "XH00"   8  header length (30)   10  FlatBuffer offset   14  its size
    18  offset of the constants   22  their size   32  the FlatBuffer, padding, constants

Files without the magic are a bare FlatBuffer.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from etlab.backends.xnnpack.payload.schema import NO_OFFSET, Graph
from etlab.errors import InvalidProgramError
from etlab.exir.emit.flatbuffer import write_flatbuffer
from etlab.exir.emit.reader import read_flatbuffer

_HEADER = struct.Struct("<4s4sHIIIQ")
_MAGIC = b"XH00"
_ALIGNMENT = 16
_IDENTIFIERS = (b"XN01", b"XN00")


@dataclass(frozen=True, slots=True)
class Payload:
    """A payload read back.

    Attributes:
        graph: its content.
        constants: the region of constants behind the graph.
    """

    graph: Graph
    constants: memoryview

    def constant(self, index: int, named_data: Mapping[str, bytes] | None = None) -> memoryview:
        """The bytes of a constant.

        Args:
            index: as values name it.
            named_data: the program's named data, for constants that lie there.

        Raises:
            InvalidProgramError: there is no such constant, or not that many bytes.
        """
        if self.graph.constant_buffer:
            if not 0 < index < len(self.graph.constant_buffer):
                raise InvalidProgramError(f"no constant {index} in the payload; it is damaged")
            return memoryview(self.graph.constant_buffer[index].storage or b"")
        table = self.graph.constant_data or ()
        if not 0 < index < len(table):
            raise InvalidProgramError(f"no constant {index} in the payload; it is damaged")
        entry = table[index]
        if entry.named_key is not None:
            if named_data is None or entry.named_key not in named_data:
                raise InvalidProgramError(
                    f"constant {index} lies under the name '{entry.named_key}', which the program's"
                    " named data lacks"
                )
            region, begin = memoryview(named_data[entry.named_key]), 0
        else:
            region, begin = self.constants, entry.offset
        if begin > len(region) or entry.size > len(region) - begin:
            raise InvalidProgramError(
                f"constant {index} needs {entry.size} bytes at {begin}, there are {len(region)}"
            )
        return region[begin : begin + entry.size]


def write_payload(graph: Graph, constants: bytes | memoryview = b"") -> bytes:
    """The bytes of a payload.

    Args:
        graph: its content.
        constants: the region of those constants that have no name.
    """
    assert constants or all(e.offset == NO_OFFSET for e in (graph.constant_data or ())[1:])
    flatbuffer = write_flatbuffer(graph, identifier=_IDENTIFIERS[0], minimum_alignment=_ALIGNMENT)
    start = _align(_HEADER.size)
    end = start + _align(len(flatbuffer))
    sizes = (start, len(flatbuffer), end, len(constants))
    header = _HEADER.pack(bytes(4), _MAGIC, _HEADER.size, *sizes)
    return header.ljust(start, b"\0") + bytes(flatbuffer).ljust(end - start, b"\0") + constants


def read_payload(data: bytes | bytearray | memoryview) -> Payload:
    """Read a payload.

    Raises:
        InvalidProgramError: it is no payload, or damaged.
    """
    view = memoryview(data).cast("B")
    flatbuffer, constants = view, view[:0]
    if bytes(view[4:8]) == _MAGIC:
        if len(view) < _HEADER.size:
            raise InvalidProgramError(
                f"the XNNPACK payload has {len(view)} bytes, fewer than its header; it is cut short"
            )
        *_, offset, size, constants_offset, constants_size = _HEADER.unpack_from(view)
        for begin, count in ((offset, size), (constants_offset, constants_size)):
            if begin > len(view) or count > len(view) - begin:
                raise InvalidProgramError(
                    f"the XNNPACK payload's header names {count} bytes at {begin}, but it has"
                    f" {len(view)}; it is damaged or cut short"
                )
        flatbuffer = view[offset : offset + size]
        constants = view[constants_offset : constants_offset + constants_size]
    found = bytes(flatbuffer[4:8])
    if found not in _IDENTIFIERS:
        raise InvalidProgramError(
            f"an XNNPACK payload begins with XN01 or XN00, this one with {found!r}; it was made for"
            " another backend, or is damaged"
        )
    return Payload(read_flatbuffer(flatbuffer, Graph, identifier=found), constants)


def _align(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
