"""A program file: the FlatBuffer with its extended header, then the segments.

    0   root offset   4  "ET12"   8  header: "eh00", its length, program size, segment base, size
    40  the rest of the FlatBuffer, padding, segments

Without segments there is no header and the file is the FlatBuffer.
"""

import dataclasses
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, cast

from etlab.errors import InvalidProgramError
from etlab.exir.emit.flatbuffer import write_flatbuffer
from etlab.exir.emit.reader import read_flatbuffer
from etlab.exir.emit.schema import FILE_IDENTIFIER, SCHEMA_VERSION, DataSegment, Program

_HEADER = struct.Struct("<4sIQQQ")
_HEADER_MAGIC = b"eh00"
_HEADER_START = 8
_MINIMUM_HEADER = 24
_BUFFER_ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes behind the FlatBuffer, given as pieces so that nothing is copied before writing.

    Attributes:
        size: bytes of the segment.
        pieces: buffers with their offsets in the segment, ascending; gaps are zero.
        alignment: of its start, beyond that of all segments.
        within: an earlier segment and an offset in it where the same bytes lie; nothing is written.
    """

    size: int
    pieces: Sequence[tuple[int, Any]]
    alignment: int = 1
    within: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class FileImage:
    """A file's content as buffers in order."""

    chunks: tuple[Any, ...]
    nbytes: int

    def to_bytes(self) -> bytes:
        """The whole file, copied once."""
        return b"".join(self.chunks)

    def write(self, file: IO[bytes]) -> None:
        """Write the chunks one after the other."""
        file.writelines(self.chunks)


@dataclass(frozen=True, slots=True)
class ProgramData:
    """A file read back.

    Attributes:
        program: its FlatBuffer.
        segments: the bytes of each segment, views of the file.
        program_size: bytes of the FlatBuffer with its header.
        nbytes: bytes of the file.
    """

    program: Program
    segments: tuple[memoryview, ...]
    program_size: int
    nbytes: int


def assemble(
    program: Program, segments: Sequence[Segment], *, alignment: int = 128
) -> tuple[FileImage, Program]:
    """Lay a program and its segments out as a file.

    Args:
        program: without `segments`, which follows from the layout.
        segments: in the order that the program's indices mean.
        alignment: of each segment, in bytes; a power of two.

    Returns:
        The file, and the program with its table of segments.
    """
    places, end = place_segments(segments, alignment)
    program = dataclasses.replace(program, segments=tuple(places))
    has_header = end > 0
    flatbuffer = write_flatbuffer(
        program,
        identifier=FILE_IDENTIFIER,
        reserved=_HEADER.size if has_header else 0,
        minimum_alignment=_BUFFER_ALIGNMENT,
    )
    if not has_header:
        return FileImage((bytes(flatbuffer),), len(flatbuffer)), program
    largest = max([alignment, *(segment.alignment for segment in segments)])
    base = _align(len(flatbuffer), largest)
    header = _HEADER.pack(_HEADER_MAGIC, _HEADER.size, len(flatbuffer), base, end)
    flatbuffer[_HEADER_START : _HEADER_START + len(header)] = header
    return image_of(flatbuffer, base, segments, places), program


def place_segments(segments: Sequence[Segment], alignment: int) -> tuple[list[DataSegment], int]:
    """Where each segment lies behind the first one's start, and the end of the last."""
    places: list[DataSegment] = []
    end = 0
    for segment in segments:
        if segment.within is not None:
            holder, offset = segment.within
            places.append(DataSegment(places[holder].offset + offset, segment.size))
            continue
        start = _align(end, max(alignment, segment.alignment))
        places.append(DataSegment(start, segment.size))
        end = start + segment.size
    return places, end


def image_of(
    flatbuffer: bytes | bytearray,
    base: int,
    segments: Sequence[Segment],
    places: Sequence[DataSegment],
) -> FileImage:
    """A file of a FlatBuffer and segments, whose places count from byte `base`."""
    chunks: list[Any] = [bytes(flatbuffer)]
    position = len(flatbuffer)
    for place, segment in zip(places, segments, strict=True):
        if segment.within is not None:
            continue
        for offset, piece in segment.pieces:
            start = base + place.offset + offset
            if start > position:
                chunks.append(bytes(start - position))
            view = memoryview(piece)
            chunks.append(view)
            position = start + view.nbytes
        if position < base + place.offset + place.size:
            chunks.append(bytes(base + place.offset + place.size - position))
            position = base + place.offset + place.size
    return FileImage(tuple(chunks), position)


def read_program(data: bytes | bytearray | memoryview) -> ProgramData:
    """Read a program file, ours or official.

    Raises:
        InvalidProgramError: the bytes are no program, cut short, damaged or of a newer version.
    """
    buffer = memoryview(data).cast("B")
    if len(buffer) >= 8 and bytes(buffer[4:8]) != FILE_IDENTIFIER:
        raise InvalidProgramError(
            f"expected file identifier {FILE_IDENTIFIER!r}, found {bytes(buffer[4:8])!r}; this is"
            " no .pte program"
        )
    program_size, base, size = _read_header(buffer)
    program = cast(
        Program, read_flatbuffer(buffer[:program_size], Program, identifier=FILE_IDENTIFIER)
    )
    if program.version > SCHEMA_VERSION:
        raise InvalidProgramError(
            f"the program has schema version {program.version}, newer than {SCHEMA_VERSION}, which"
            " this etlab reads; update etlab"
        )
    segments: list[memoryview] = []
    for index, segment in enumerate(program.segments or ()):
        if segment.offset + segment.size > size:
            raise InvalidProgramError(
                f"segment {index} covers bytes {segment.offset} to {segment.offset + segment.size},"
                f" but the segments have {size} bytes; the file is damaged or cut short"
            )
        segments.append(buffer[base + segment.offset : base + segment.offset + segment.size])
    return ProgramData(program, tuple(segments), program_size, len(buffer))


def _read_header(buffer: memoryview) -> tuple[int, int, int]:
    """Program size, segment base and size of all segments; of the whole file without a header."""
    if len(buffer) < _HEADER_START + _HEADER.size or buffer[8:12] != _HEADER_MAGIC:
        return len(buffer), 0, 0
    _, length, program_size, base, size = _HEADER.unpack_from(buffer, _HEADER_START)
    if length < _MINIMUM_HEADER:
        raise InvalidProgramError(
            f"the file's header claims {length} bytes, fewer than {_MINIMUM_HEADER}; it is damaged"
        )
    if length < _HEADER.size:
        size = len(buffer) - base if base else 0
    if program_size > len(buffer) or base + size > len(buffer) or (size and base < program_size):
        raise InvalidProgramError(
            f"the file's header claims {program_size} bytes of program and segments from {base} to"
            f" {base + size}, but the file has {len(buffer)} bytes; it is cut short or damaged"
        )
    return program_size, base, size


def _align(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment
