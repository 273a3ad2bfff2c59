"""`etlab.diff`: what differs between two programs."""

import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import InvalidArgumentError
from etlab.exir.emit import schema
from etlab.exir.emit.dump import describe_value, operator_name
from etlab.inspect.anatomy import delegate_bytes
from etlab.inspect.constant_pieces import constant_pieces
from etlab.inspect.diff_figures import Figure, figures_of, planned_bytes, plans, sizes
from etlab.inspect.diff_picture import draw_figures
from etlab.inspect.program_file import ProgramFile
from etlab.inspect.table import Table

if TYPE_CHECKING:
    import pandas

SECTIONS = ("methods", "signature", "graph", "operators", "weights", "plan", "delegates", "bytes")
_MOST_LINES = 120
_MOST_OF_A_SECTION = 40  # as text
# Of a cell of the table: keys of weights are digests, instructions are long.
_MOST_LETTERS = {"section": 40, "method": 40, "what": 40, "before": 240, "after": 240}


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs.

    Attributes:
        section: one of `SECTIONS`.
        method: of which method; empty for the whole file.
        what: differs.
        before: in the first program; empty when it is not there.
        after: in the second program, likewise.
    """

    section: str
    method: str
    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ProgramDiff:
    """All that differs between two programs; false in a condition when nothing does.

    Attributes:
        before: name of the first.
        after: name of the second.
        rows: in the order of `SECTIONS`.
        figures: numbers of both programs, equal ones too.
    """

    before: str
    after: str
    rows: tuple[Difference, ...]
    figures: Table[Figure] = field(
        default_factory=lambda: Table(Figure, (), title="figures"), repr=False
    )

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.rows)

    @property
    def exit_code(self) -> int:
        """As `diff` has it: 0 for nothing, 1 for something."""
        return int(bool(self.rows))

    def widget(self, **options: Any) -> Any:
        """A `DiffView` of these differences; see there for the options."""
        return display.view_of(self, "DiffView", **options)

    def to_svg(self) -> str:
        """The numbers that differ, as two bars each; empty when none does."""
        return draw_figures(self.figures, names=(self.before, self.after))

    def section(self, name: str) -> Table[Difference]:
        """The differences of one section.

        Raises:
            InvalidArgumentError: there is no such section.
        """
        if name not in SECTIONS:
            raise InvalidArgumentError(f"no section '{name}': choose from {', '.join(SECTIONS)}")
        return Table(Difference, [row for row in self.rows if row.section == name], title=name)

    def only(self, *sections: str) -> "ProgramDiff":
        """The differences of some sections.

        Raises:
            InvalidArgumentError: there is no such section.
        """
        rows = [row for name in SECTIONS if name in sections for row in self.section(name)]
        for name in sections:
            self.section(name)  # refuses a wrong one in words
        return ProgramDiff(self.before, self.after, tuple(rows))

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a difference."""
        return Table(Difference, self.rows, title="").to_dataframe()

    def __repr__(self) -> str:
        """One line."""
        counts = Counter(row.section for row in self.rows)
        found = ", ".join(f"{counts[name]} in {name}" for name in SECTIONS if counts[name])
        return f"ProgramDiff({self.before} to {self.after}: {found or 'nothing differs'})"

    def __str__(self) -> str:
        """Section by section."""
        if not self.rows:
            return f"{self.before} and {self.after}: nothing differs"
        parts = [f"{self.before} to {self.after}"]
        for name in SECTIONS:
            rows = self.section(name)
            if rows:
                parts.append(f"\n{name}")
                parts += [_line(row) for row in rows[:_MOST_OF_A_SECTION]]
                if len(rows) > _MOST_OF_A_SECTION:
                    more = len(rows) - _MOST_OF_A_SECTION
                    parts.append(f"  … and {more} more: section('{name}')")
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        columns = ("section", "method", "what", "before", "after")
        rows = [
            [display.shorten(getattr(row, name), _MOST_LETTERS[name]) for name in columns]
            for row in self.rows[:_MOST_LINES]
        ]
        more = len(self.rows) - len(rows)
        parts = [display.table(columns, rows)] if rows else [display.note("nothing differs")]
        if svg := self.to_svg():
            words = f"numbers of {self.before} and of {self.after}"
            parts.insert(0, display.svg_image(svg, alternative=words))
        if more:
            parts.append(display.note(f"{more} more: to_dataframe()"))
        return display.card(f"{self.before} to {self.after}", *parts, subtitle=repr(self))


def diff(before: Any, after: Any) -> ProgramDiff:
    """Compare two programs.

    Args:
        before: an `ExportRun`, a `ProgramFile`, or the path of a .pte file.
        after: another one.

    Raises:
        InvalidArgumentError: one is something else.
        EtlabError: a file cannot be read, or is no program.
    """
    first, second = _as_file(before), _as_file(after)
    rows: list[Difference] = []
    left, right = plans(first), plans(second)
    rows += _mapping("methods", "", dict.fromkeys(left, "there"), dict.fromkeys(right, "there"))
    for method in sorted(left.keys() & right.keys()):
        rows += _compare_plans(method, left[method], right[method], first, second)
    rows += _mapping("weights", "", _weights(first), _weights(second))
    kinds = [{kind: f"{n:,}" for kind, n in sizes(file).items()} for file in (first, second)]
    rows += _mapping("bytes", "", kinds[0], kinds[1])
    order = {name: place for place, name in enumerate(SECTIONS)}
    rows.sort(key=lambda row: order[row.section])  # stable: the order within a section stays
    return ProgramDiff(first.name, second.name, tuple(rows), figures_of(first, second))


def _as_file(given: Any) -> ProgramFile:
    if isinstance(given, ProgramFile):
        return given
    if isinstance(given, str | Path):
        from etlab.inspect.loading import load

        given = load(given)
    file = given if isinstance(given, ProgramFile) else getattr(given, "file", None)
    if not isinstance(file, ProgramFile):
        raise InvalidArgumentError(
            "diff: expected an ExportRun, a ProgramFile or the path of a .pte file, got"
            f" {type(given).__name__}"
        )
    return file


def _compare_plans(
    method: str,
    left: schema.ExecutionPlan,
    right: schema.ExecutionPlan,
    first: ProgramFile,
    second: ProgramFile,
) -> Iterator[Difference]:
    yield from _mapping("signature", method, _signature(left), _signature(right))
    yield from _lines("graph", method, _instructions(left), _instructions(right))
    operators = [
        {row.operator: f"{row.calls} calls" for row in file.operators(method)}
        for file in (first, second)
    ]
    yield from _mapping("operators", method, operators[0], operators[1])
    memory = [
        {what: f"{count:,} bytes" for what, count in planned_bytes(file, plan).items()}
        for file, plan in ((first, left), (second, right))
    ]
    yield from _mapping("plan", method, memory[0], memory[1])
    yield from _mapping("delegates", method, _delegates(left, first), _delegates(right, second))


def _mapping(
    section: str, method: str, left: Mapping[str, str], right: Mapping[str, str]
) -> Iterator[Difference]:
    for key in dict.fromkeys((*left, *right)):
        before, after = left.get(key, ""), right.get(key, "")
        if before != after:
            yield Difference(section, method, key, before, after)


def _lines(
    section: str, method: str, left: Sequence[str], right: Sequence[str]
) -> Iterator[Difference]:
    """Stretches of lines that were replaced, removed or added."""
    matcher = difflib.SequenceMatcher(a=left, b=right, autojunk=False)
    for what, a, b, c, d in matcher.get_opcodes():
        if what != "equal":
            place = f"instruction {a}" if b - a <= 1 else f"instructions {a} to {b - 1}"
            yield Difference(section, method, place, "\n".join(left[a:b]), "\n".join(right[c:d]))


def _signature(plan: schema.ExecutionPlan) -> dict[str, str]:
    found = {}
    for what, indices in (("input", plan.inputs), ("output", plan.outputs)):
        for place, index in enumerate(indices or ()):
            found[f"{what} {place}"] = _shape_of(plan, index)
    return found


def _instructions(plan: schema.ExecutionPlan) -> list[str]:
    """Instructions without the numbers of values, which a small change moves all of."""
    lines = []
    for instruction in (i for chain in plan.chains or () for i in chain.instructions or ()):
        call = instruction.instr_args
        if isinstance(call, schema.KernelCall):
            arguments = ", ".join(_shape_of(plan, index) for index in call.args or ())
            lines.append(f"{operator_name(plan, call.op_index)}({arguments})")
        elif isinstance(call, schema.DelegateCall):
            delegates = plan.delegates or ()
            known = call.delegate_index < len(delegates)
            name = delegates[call.delegate_index].id if known else "unknown"
            arguments = ", ".join(_shape_of(plan, index) for index in call.args or ())
            lines.append(f"delegate {name}({arguments})")
        else:
            lines.append(type(call).__name__)
    return lines


def _shape_of(plan: schema.ExecutionPlan, index: int) -> str:
    values = plan.values or ()
    if not 0 <= index < len(values):
        return "nothing"
    value = values[index].val
    if isinstance(value, schema.Tensor):
        sizes = ", ".join(map(str, value.sizes or ()))
        kind = "constant " if value.data_buffer_idx and value.allocation_info is None else ""
        return f"{kind}{value.scalar_type.name.lower()}[{sizes}]"
    if isinstance(value, schema.TensorList | schema.OptionalTensorList | schema.IntList):
        items = [_shape_of(plan, item) if item >= 0 else "None" for item in value.items or ()]
        return f"[{', '.join(items)}]"
    return describe_value(value)


def _delegates(plan: schema.ExecutionPlan, file: ProgramFile) -> dict[str, str]:
    rows = {row.index: row for row in file.anatomy.delegates if row.method == (plan.name or "")}
    found = {}
    for index, delegate in enumerate(plan.delegates or ()):
        content = delegate_bytes(file.content, delegate)
        digest = hashlib.blake2b(content, digest_size=4).hexdigest()
        found[f"delegate {index}"] = (
            f"{delegate.id}, {len(content):,} bytes ({digest}): {rows[index].kinds}"
        )
    return found


def _weights(file: ProgramFile) -> dict[str, str]:
    """Constants and named data by what they are, with a digest of their content."""
    found: dict[str, str] = {}
    for piece in constant_pieces(file.content):
        shape = ", ".join(map(str, piece.shape))
        found[f"constant {piece.index}"] = f"{piece.dtype}[{shape}] {_digest(piece.content)}"
    segments = file.content.segments
    for named in file.content.program.named_data or ():
        if named.segment_index < len(segments):
            content = segments[named.segment_index]
            found[f"'{named.key}'"] = f"{len(content):,} bytes {_digest(content)}"
    for name, data in file.tensor_data.items():
        found[name] = f"{len(data):,} bytes {_digest(data)}"
    return found


def _digest(content: Any) -> str:
    return hashlib.blake2b(content, digest_size=4).hexdigest()


def _line(row: Difference) -> str:
    what = display.shorten(row.what)
    where = f"{row.method}, {what}" if row.method else what
    if "\n" not in row.before + row.after and len(row.before) + len(row.after) < 100:
        return f"  {where}: {row.before or 'absent'} -> {row.after or 'absent'}"
    lines = [f"  {where}"]
    lines += [f"    - {line}" for line in row.before.splitlines()]
    lines += [f"    + {line}" for line in row.after.splitlines()]
    return "\n".join(lines)
