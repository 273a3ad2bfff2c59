"""How a program file is built: header, segments, what lies twice, and what delegates hold."""

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import BackendMissingError, EtlabError
from etlab.exir.emit.enums import DataLocation
from etlab.exir.emit.file import ProgramData
from etlab.exir.emit.schema import BackendDelegate, DelegateCall
from etlab.exir.partition.registry import backend_class
from etlab.inspect.constant_pieces import constant_pieces
from etlab.inspect.table import Table

if TYPE_CHECKING:
    import pandas

_HEADER = struct.Struct("<4sIQQQ")
_MOST_LINES = 40  # of a table as text
_SMALLEST_DUPLICATE = 64  # bytes; less is not worth a line


@dataclass(frozen=True, slots=True)
class FileHeader:
    """The beginning of a file.

    Attributes:
        identifier: of the format.
        version: of the schema.
        nbytes: of the file.
        program_nbytes: of the FlatBuffer, this header included.
        segments_at: byte where the first segment begins; 0 without segments.
        has_extended_header: whether the file says so itself; files without segments do not.
    """

    identifier: str
    version: int
    nbytes: int
    program_nbytes: int
    segments_at: int
    has_extended_header: bool


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """One segment.

    Attributes:
        index: as the program names it.
        at: its first byte in the file.
        nbytes: its size, without padding.
        holds: constants, first state, a delegate's bytes, or named data by their keys.
    """

    index: int
    at: int
    nbytes: int
    holds: str


@dataclass(frozen=True, slots=True)
class DuplicateRow:
    """The same bytes in several places.

    Attributes:
        nbytes: of one.
        count: how often they are stored.
        wasted: bytes that storing them once would save.
        what: the places.
    """

    nbytes: int
    count: int
    wasted: int
    what: str


@dataclass(frozen=True, slots=True)
class DelegateRow:
    """What one delegated subgraph holds.

    Attributes:
        method: that calls it.
        index: among the method's delegates.
        backend: who runs it.
        calls: how many instructions call it.
        nbytes: that the compiler stored for it.
        nodes: how many it has; None when its backend is unknown here or does not tell.
        kinds: its nodes by kind, the commonest first; of an unknown backend that it is.
    """

    method: str
    index: int
    backend: str
    calls: int
    nbytes: int
    nodes: int | None
    kinds: str


@dataclass(frozen=True, slots=True)
class Anatomy:
    """How a file is built.

    Attributes:
        name: of the file.
        header: its beginning.
        segments: behind the FlatBuffer.
        delegates: of all methods.
        duplicates: what is stored more than once, the most wasteful first.
    """

    name: str
    header: FileHeader
    segments: Table[SegmentRow]
    delegates: Table[DelegateRow]
    duplicates: Table[DuplicateRow]

    def to_dataframe(self) -> "pandas.DataFrame":
        """The segments, one a row."""
        return self.segments.to_dataframe()

    def __repr__(self) -> str:
        """One line."""
        return (
            f"Anatomy({self.name}: {self.header.nbytes:,} bytes, {len(self.segments)} segments,"
            f" {len(self.delegates)} delegates, {len(self.duplicates)} duplicates)"
        )

    def __str__(self) -> str:
        """Header and tables."""
        tables: tuple[Table[Any], ...] = (self.segments, self.delegates, self.duplicates)
        return "\n\n".join([self._headline(), *(_text(table) for table in tables if table)])

    def _headline(self) -> str:
        header = self.header
        extended = "extended header" if header.has_extended_header else "no extended header"
        segments = f", segments from byte {header.segments_at:,}" if self.segments else ""
        return (
            f"{self.name}: {header.identifier} version {header.version}, {header.nbytes:,} bytes,"
            f" {extended}, program {header.program_nbytes:,} bytes{segments}"
        )

    def _repr_html_(self) -> str:
        tables: tuple[Table[Any], ...] = (self.segments, self.delegates, self.duplicates)
        return display.card(
            f"Anatomy of {self.name}",
            *(table._repr_html_() for table in tables if table),
            subtitle=self._headline(),
        )


def _text(table: Table[Any]) -> str:
    """A table as text, long ones by their beginning."""
    lines = str(table).splitlines()
    more = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], f"… and {more} more"] if more > 0 else lines)


def anatomy(data: bytes, file: ProgramData, name: str) -> Anatomy:
    """Take a file apart.

    Args:
        data: the whole file.
        file: the same, read.
        name: for titles.
    """
    return Anatomy(
        name,
        _header(data, file),
        Table(SegmentRow, _segments(data, file), title=f"segments of {name}"),
        Table(DelegateRow, _delegates(file), title=f"delegates of {name}"),
        Table(DuplicateRow, _duplicates(file), title=f"stored more than once in {name}"),
    )


def delegate_bytes(file: ProgramData, delegate: BackendDelegate) -> bytes:
    """What the compiler stored for a delegate; empty when the file is damaged there."""
    place = delegate.processed
    if place is None:
        return b""
    if place.location is DataLocation.SEGMENT:
        return bytes(file.segments[place.index]) if place.index < len(file.segments) else b""
    inline = file.program.backend_delegate_data or ()
    return bytes(inline[place.index].data or b"") if place.index < len(inline) else b""


def describe_delegate(backend: str, processed: bytes) -> str:
    """The text of a delegate's graph; why there is none, where its backend is unknown or silent."""
    try:
        text = backend_class(backend).describe(processed)
    except BackendMissingError:
        return f"unknown backend '{backend}': {len(processed):,} bytes"
    except EtlabError as error:
        return f"{backend}: {error}"
    return text or f"{backend}: {len(processed):,} bytes, which it does not describe"


def _header(data: bytes, file: ProgramData) -> FileHeader:
    is_extended = len(data) >= 8 + _HEADER.size and data[8:12] == b"eh00"
    base = _HEADER.unpack_from(data, 8)[3] if is_extended else 0
    return FileHeader(
        data[4:8].decode("latin-1"),
        file.program.version,
        file.nbytes,
        file.program_size,
        base,
        is_extended,
    )


def _segments(data: bytes, file: ProgramData) -> Iterator[SegmentRow]:
    base = _header(data, file).segments_at
    holds: dict[int, list[str]] = {}
    program = file.program
    if program.constant_segment is not None and program.constant_segment.offsets:
        holds.setdefault(program.constant_segment.segment_index, []).append("constants")
    for mutable in program.mutable_data_segments or ():
        holds.setdefault(mutable.segment_index, []).append("first state")
    for plan in program.execution_plan or ():
        for delegate in plan.delegates or ():
            place = delegate.processed
            if place is not None and place.location is DataLocation.SEGMENT:
                text = f"{delegate.id} of {plan.name}"
                holds.setdefault(place.index, []).append(text)
    for named in program.named_data or ():
        holds.setdefault(named.segment_index, []).append(display.shorten(f"'{named.key}'"))
    for index, segment in enumerate(program.segments or ()):
        what = ", ".join(dict.fromkeys(holds.get(index, ()))) or "nothing that is named"
        yield SegmentRow(index, base + segment.offset, segment.size, what)


def _delegates(file: ProgramData) -> Iterator[DelegateRow]:
    for plan in file.program.execution_plan or ():
        called = [
            instruction.instr_args.delegate_index
            for chain in plan.chains or ()
            for instruction in chain.instructions or ()
            if isinstance(instruction.instr_args, DelegateCall)
        ]
        for index, delegate in enumerate(plan.delegates or ()):
            processed = delegate_bytes(file, delegate)
            nodes, kinds = _inside(delegate.id or "", processed)
            yield DelegateRow(
                plan.name or "",
                index,
                delegate.id or "",
                called.count(index),
                len(processed),
                nodes,
                kinds,
            )


def _inside(backend: str, processed: bytes) -> tuple[int | None, str]:
    """How many nodes a delegate has, and of which kinds."""
    try:
        inside = backend_class(backend).look_inside(processed)
        if inside is None:
            return None, "not told"
        counts: dict[str, int] = {}
        for node in inside.nodes:
            counts[node.kind] = counts.get(node.kind, 0) + 1
    except BackendMissingError:
        return None, "unknown backend"
    except EtlabError as error:
        return None, f"cannot be read: {error}"
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return sum(counts.values()), ", ".join(f"{count} {kind}" for kind, count in ordered)


def _duplicates(file: ProgramData) -> list[DuplicateRow]:
    places: dict[tuple[int, bytes], list[str]] = {}
    for name, content in _contents(file):
        if len(content) >= _SMALLEST_DUPLICATE:
            digest = hashlib.blake2b(content, digest_size=16).digest()
            places.setdefault((len(content), digest), []).append(name)
    rows = [
        DuplicateRow(nbytes, len(names), nbytes * (len(names) - 1), ", ".join(names))
        for (nbytes, _), names in places.items()
        if len(names) > 1
    ]
    return sorted(rows, key=lambda row: (-row.wasted, row.what))


def _contents(file: ProgramData) -> Iterator[tuple[str, Any]]:
    """Constants and segments by name, each stretch of the file once."""
    program = file.program
    table = program.constant_segment
    for piece in constant_pieces(file):
        shape = "x".join(map(str, piece.shape))
        yield f"constant {piece.index} {piece.dtype}[{shape}]", piece.content
    seen: set[tuple[int, int]] = set()
    inside = (0, 0)
    segments = program.segments or ()
    if table is not None and table.segment_index < len(segments):
        holder = segments[table.segment_index]
        inside = (holder.offset, holder.offset + holder.size)
    for index, place in enumerate(segments):
        stretch = (place.offset, place.size)
        is_shared = inside[0] <= place.offset and place.offset + place.size <= inside[1]
        if stretch in seen or (is_shared and place.size):
            continue
        seen.add(stretch)
        yield f"segment {index}", file.segments[index]
