"""A .ptd file: tensors by name, outside of the programs that use them (ExecuTorch's `FT01`).

0   root offset   4  "FT01"   8  header: "FH01", its length, FlatBuffer start and size,
segment base, size of all segments
48  the rest of the FlatBuffer, padding, segments
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, cast

from etlab.errors import InvalidProgramError
from etlab.exir.emit.fields import Int32s, Scalar, UInt8s, UInt32
from etlab.exir.emit.file import FileImage, Segment, image_of, place_segments
from etlab.exir.emit.flatbuffer import write_flatbuffer
from etlab.exir.emit.reader import read_flatbuffer
from etlab.exir.emit.scalar_type import ScalarType
from etlab.exir.emit.schema import DataSegment

FILE_IDENTIFIER = b"FT01"
SCHEMA_VERSION = 0
_HEADER = struct.Struct("<4sIQQQQ")
_HEADER_MAGIC = b"FH01"
_HEADER_START = 8
_BUFFER_ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """How a segment's bytes are a tensor; `dim_order` names dimensions, outermost first."""

    scalar_type: Annotated[ScalarType, Scalar("b")] = ScalarType.BYTE
    sizes: Int32s | None = None
    dim_order: UInt8s | None = None


@dataclass(frozen=True, slots=True)
class NamedTensor:
    """A name for a segment; several may share one."""

    key: str | None = None
    segment_index: UInt32 = 0
    tensor_layout: TensorLayout | None = None


@dataclass(frozen=True, slots=True)
class FlatTensor:
    """The file's FlatBuffer."""

    version: UInt32 = SCHEMA_VERSION
    segments: tuple[DataSegment, ...] | None = None
    named_data: tuple[NamedTensor, ...] | None = None


def assemble_tensor_file(
    names: Sequence[NamedTensor], segments: Sequence[Segment], *, alignment: int = 128
) -> FileImage:
    """Lay named tensors out as a file.

    Args:
        names: in the order to store them.
        segments: in the order that the names' indices mean.
        alignment: of each segment, in bytes; a power of two.
    """
    places, size = place_segments(segments, alignment)
    flatbuffer = write_flatbuffer(
        FlatTensor(segments=tuple(places), named_data=tuple(names)),
        identifier=FILE_IDENTIFIER,
        reserved=_HEADER.size,
        minimum_alignment=_BUFFER_ALIGNMENT,
    )
    begin = _HEADER_START + _HEADER.size  # readers add the size to it and read from byte 0
    base = -(-len(flatbuffer) // alignment) * alignment
    header = _HEADER.pack(_HEADER_MAGIC, _HEADER.size, begin, len(flatbuffer) - begin, base, size)
    flatbuffer[_HEADER_START:begin] = header
    return image_of(flatbuffer, base, segments, places)


@dataclass(frozen=True, slots=True)
class TensorFileData:
    """A file read back.

    Attributes:
        flat_tensor: its FlatBuffer; every name's segment exists.
        segments: the bytes of each segment, views of the file.
    """

    flat_tensor: FlatTensor
    segments: tuple[memoryview, ...]


def read_tensor_file(data: bytes | bytearray | memoryview) -> TensorFileData:
    """Read a .ptd file, ours or official.

    Raises:
        InvalidProgramError: the bytes are no such file, cut short, damaged or of a newer version.
    """
    buffer = memoryview(data).cast("B")
    begin = _HEADER_START + _HEADER.size
    if len(buffer) < begin or bytes(buffer[_HEADER_START : _HEADER_START + 4]) != _HEADER_MAGIC:
        raise InvalidProgramError("this is no .ptd file: its header does not begin with 'FH01'")
    _, _, start, size, base, total = _HEADER.unpack_from(buffer, _HEADER_START)
    if start + size > len(buffer) or base + total > len(buffer):
        raise InvalidProgramError(
            f"the header of the .ptd file claims {start + size} bytes of names and segments up to"
            f" {base + total}, but the file has {len(buffer)} bytes; it is cut short or damaged"
        )
    flat = cast(
        FlatTensor, read_flatbuffer(buffer[: start + size], FlatTensor, identifier=FILE_IDENTIFIER)
    )
    if flat.version > SCHEMA_VERSION:
        raise InvalidProgramError(
            f"the .ptd file has schema version {flat.version}, newer than {SCHEMA_VERSION}; update"
            " etlab"
        )
    places = flat.segments or ()
    for index, place in enumerate(places):
        if place.offset + place.size > total:
            raise InvalidProgramError(
                f"segment {index} of the .ptd file ends at {place.offset + place.size}, the"
                f" segments have {total} bytes; the file is damaged"
            )
    for named in flat.named_data or ():
        if named.segment_index >= len(places):
            raise InvalidProgramError(
                f"'{named.key}' of the .ptd file lies in segment {named.segment_index}, there are"
                f" {len(places)}; the file is damaged"
            )
    views = [buffer[base + p.offset : base + p.offset + p.size] for p in places]
    return TensorFileData(flat, tuple(views))
