"""What fills a program file: constants by name, delegates, the program itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.exir.emit.enums import DataLocation
from etlab.exir.emit.file import ProgramData, read_program
from etlab.exir.emit.flat_tensor import TensorLayout, read_tensor_file
from etlab.inspect.constant_names import constant_names, digest
from etlab.inspect.constant_pieces import constant_pieces, readers_of_constants

if TYPE_CHECKING:
    import pandas

    from etlab.exir.edge import EdgeGraph
    from etlab.inspect.estimates import EstimateReport


_KINDS = ("part", "bytes", "share")
_LARGEST = ("kind", "name", "dtype", "shape", "bytes")
_MOST_PARTS = 12


@dataclass(frozen=True, slots=True)
class SizeEntry:
    """One part of a file.

    Attributes:
        kind: "constant", "state", "delegate", "named data", "external", "program" or "padding".
        name: of the parameter, backend or key; empty when nothing names it.
        dtype: of a constant.
        shape: of a constant.
        nbytes: bytes in the file; "external" ones lie in a .ptd file.
        operators: that read a constant, sorted; the backend of a delegate.
    """

    kind: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    operators: str = ""


@dataclass(frozen=True, slots=True)
class SizeReport:
    """All parts of a program's files; their bytes add up to `total`.

    Attributes:
        title: of the program.
        total: bytes of the .pte file, and of the .ptd files that it needs.
        entries: the parts, largest first.
        estimates: of devices that are not here, and what lies in which of their memories.
    """

    title: str
    total: int
    entries: tuple[SizeEntry, ...]
    estimates: "EstimateReport | None" = None

    @property
    def by_kind(self) -> dict[str, int]:
        """Bytes of every kind of part, largest first."""
        return _summed((entry.kind, entry.nbytes) for entry in self.entries)

    @property
    def by_module(self) -> dict[str, int]:
        """Bytes of constants by the module they belong to, largest first."""
        return _summed(
            (entry.name.rpartition(".")[0] or "(top)", entry.nbytes)
            for entry in self.entries
            if entry.kind in ("constant", "state")
            or (entry.kind == "named data" and "." in entry.name)
        )

    @property
    def by_operator(self) -> dict[str, int]:
        """Bytes of constants and delegates by who reads them, largest first."""
        return _summed(
            (entry.operators or "(nobody)", entry.nbytes)
            for entry in self.entries
            if entry.kind in ("constant", "delegate")
        )

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a part."""
        import pandas

        fields = list(SizeEntry.__dataclass_fields__)
        rows = [{name: getattr(entry, name) for name in fields} for entry in self.entries]
        frame = pandas.DataFrame(rows, columns=fields)
        frame["share"] = frame.nbytes / max(self.total, 1)
        return frame

    def to_svg(self) -> str:
        """The parts as a treemap: areas are bytes."""
        from etlab.inspect.size_picture import draw_svg

        return draw_svg(self)

    def widget(self, **options: Any) -> Any:
        """A `SizeView` of these parts; see there for the options."""
        return display.view_of(self, "SizeView", **options)

    def _ipython_display_(self) -> None:
        """In a notebook the live view (and its picture, which stays); elsewhere one line."""
        display.show_view(self)

    def __repr__(self) -> str:
        """One line."""
        parts = ", ".join(
            f"{kind} {display.format_bytes(count)}" for kind, count in self.by_kind.items()
        )
        return f"SizeReport({self.title}: {display.format_bytes(self.total)}: {parts})"

    def __str__(self) -> str:
        """The report as text: bytes by kind, and the largest parts."""
        parts = [f"Size of {self.title}: {self.total:,} bytes"]
        parts += ["", display.text_table(_KINDS, self._kind_rows())]
        parts += ["", "largest parts", display.text_table(_LARGEST, self._largest_rows())]
        if self.estimates:
            parts += ["", *self.estimates.lines()]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        largest = display.table(_LARGEST, self._largest_rows(), numeric=["bytes"])
        lines = self.estimates.lines() if self.estimates else []
        return display.card(
            f"Size of {self.title}",
            display.svg_image(self.to_svg(), alternative=repr(self)),
            display.table(_KINDS, self._kind_rows(), numeric=["bytes", "share"]),
            display.details("largest parts", largest),
            *(f"<div>{display.escape(line)}</div>" for line in lines),
            subtitle=f"{self.total:,} bytes",
        )

    def _kind_rows(self) -> list[tuple[str, ...]]:
        total = max(self.total, 1)
        return [(kind, f"{n:,}", f"{n / total:.1%}") for kind, n in self.by_kind.items()]

    def _largest_rows(self) -> list[tuple[str, ...]]:
        return [
            (one.kind, one.name, one.dtype, " x ".join(map(str, one.shape)), f"{one.nbytes:,}")
            for one in self.entries[:_MOST_PARTS]
        ]


def size_report(
    data: bytes,
    *,
    title: str,
    graphs: Sequence["EdgeGraph"] = (),
    tensor_data: Mapping[str, bytes] | None = None,
    parameters: Iterable[str] = (),
    estimates: "EstimateReport | None" = None,
) -> SizeReport:
    """Take a program's files apart.

    Args:
        data: the whole .pte file.
        title: of the report.
        tensor_data: the .ptd files with what the program keeps outside, by name.
        graphs: edge graphs of the same program; they give constants their names, which a file does
            not carry, also to those that delegates read.
        parameters: names of the model's own tensors.
        estimates: of devices that are not here.

    Raises:
        InvalidProgramError: the file is damaged or foreign.
    """
    file = read_program(data)
    names = constant_names(graphs, parameters)
    entries = [
        *_constants(file, names),
        *_delegates(file),
        *_named_data(file, names),
        SizeEntry("program", "", "", (), file.program_size),
    ]
    for content in (tensor_data or {}).values():
        entries += _external(content)
    total = file.nbytes + sum(len(content) for content in (tensor_data or {}).values())
    rest = total - sum(entry.nbytes for entry in entries)
    if rest > 0:
        entries.append(SizeEntry("padding", "", "", (), rest))
    entries.sort(key=lambda entry: (-entry.nbytes, entry.kind, entry.name))
    return SizeReport(title, total, tuple(entries), estimates)


def _external(content: bytes) -> list[SizeEntry]:
    """The tensors of a .ptd file; names that share their bytes are one entry."""
    file = read_tensor_file(content)
    names: dict[int, list[str]] = {}
    layouts: dict[int, TensorLayout | None] = {}
    for named in file.flat_tensor.named_data or ():
        names.setdefault(named.segment_index, []).append(named.key or "")
        layouts[named.segment_index] = named.tensor_layout
    return [
        SizeEntry(
            "external",
            ", ".join(sorted(found)),
            layout.scalar_type.name.lower() if (layout := layouts[index]) else "",
            tuple(layout.sizes or ()) if layout else (),
            len(file.segments[index]),
        )
        for index, found in sorted(names.items())
    ]


def _summed(pairs: Any) -> dict[str, int]:
    sums: dict[str, int] = {}
    for key, count in pairs:
        sums[key] = sums.get(key, 0) + count
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


def _constants(file: ProgramData, names: dict[bytes, str]) -> list[SizeEntry]:
    segment_table = file.program.constant_segment
    if segment_table is None or not segment_table.offsets:
        buffers = [buffer.storage or b"" for buffer in file.program.constant_buffer or ()]
        # Inline constants are part of the program's bytes; they are only listed, at no size.
        return [SizeEntry("constant", "(inline)", "", (), 0) for _ in buffers[1:]]
    readers = readers_of_constants(file)
    return [
        SizeEntry(
            "constant",
            names.get(digest(piece.content), ""),
            piece.dtype,
            piece.shape,
            len(piece.content),
            ", ".join(sorted(readers.get(piece.index, ()))),
        )
        for piece in constant_pieces(file)
    ]


def _delegates(file: ProgramData) -> list[SizeEntry]:
    entries = []
    seen = set()
    for plan in file.program.execution_plan or ():
        for delegate in plan.delegates or ():
            place = delegate.processed
            if place is None or (place.location, place.index) in seen:
                continue
            seen.add((place.location, place.index))
            size = 0
            if place.location == DataLocation.SEGMENT and place.index < len(file.segments):
                size = len(file.segments[place.index])
            name = delegate.id or ""
            entries.append(SizeEntry("delegate", name, "", (), size, name))
    return entries


def _named_data(file: ProgramData, names: Mapping[bytes, str]) -> list[SizeEntry]:
    """Bytes by key, or by the name of the tensor that they are.

    What shares its bytes with a constant or another name has no size here.
    """
    entries = []
    seen: set[int] = set()
    for named in file.program.named_data or ():
        if named.segment_index >= len(file.segments):
            continue
        is_shared = named.segment_index in seen or _is_within_constants(file, named.segment_index)
        seen.add(named.segment_index)
        size = 0 if is_shared else len(file.segments[named.segment_index])
        content = file.segments[named.segment_index]
        name = names.get(digest(content), "") if names and size else ""
        entries.append(SizeEntry("named data", name or named.key or "", "", (), size))
    return entries


def _is_within_constants(file: ProgramData, index: int) -> bool:
    """Whether a segment is a part of the one that holds the constants."""
    table, places = file.program.constant_segment, file.program.segments or ()
    if table is None or index == table.segment_index or table.segment_index >= len(places):
        return False
    constants, place = places[table.segment_index], places[index]
    end = constants.offset + constants.size
    return constants.offset <= place.offset and place.offset + place.size <= end and place.size > 0
