"""The numbers of two programs beside each other: bytes, calls, planned memory."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from etlab.exir.emit import schema
from etlab.exir.memory.from_program import plan_of_program
from etlab.inspect.anatomy import delegate_bytes
from etlab.inspect.program_file import ProgramFile
from etlab.inspect.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of both programs.

    Attributes:
        section: "bytes" of the files by kind; "operators" by calls; "plan", "delegates": bytes.
        method: of which method; empty for the whole file.
        what: is counted.
        before: in the first program; 0 when it is not there.
        after: in the second program, likewise.
    """

    section: str
    method: str
    what: str
    before: int
    after: int


def figures_of(first: ProgramFile, second: ProgramFile) -> Table[Figure]:
    """All numbers that either program has, by section and method."""
    rows = [*_paired("bytes", "", sizes(first), sizes(second))]
    left, right = plans(first), plans(second)
    for method in sorted(left.keys() | right.keys()):
        for section, count in (
            ("operators", _calls),
            ("plan", planned_bytes),
            ("delegates", _payloads),
        ):
            numbers = [
                count(file, known[method]) if method in known else {}
                for file, known in ((first, left), (second, right))
            ]
            rows += _paired(section, method, *numbers)
    return Table(Figure, rows, title=f"figures of {first.name} and {second.name}")


def plans(file: ProgramFile) -> dict[str, schema.ExecutionPlan]:
    """Execution plans by the names of their methods."""
    return {plan.name or "": plan for plan in file.content.program.execution_plan or ()}


def sizes(file: ProgramFile) -> dict[str, int]:
    """Bytes of the program's files by kind of part."""
    return dict(file.size().by_kind)


def planned_bytes(_: ProgramFile, plan: schema.ExecutionPlan) -> dict[str, int]:
    """Bytes of every arena, and of what is alive at once."""
    arenas = (plan.non_const_buffer_sizes or ())[1:]
    found = {f"arena {place + 1}": int(size) for place, size in enumerate(arenas)}
    found["peak of live bytes"] = plan_of_program(plan).peak
    return found


def _calls(file: ProgramFile, plan: schema.ExecutionPlan) -> dict[str, int]:
    return {row.operator: row.calls for row in file.operators(plan.name or "")}


def _payloads(file: ProgramFile, plan: schema.ExecutionPlan) -> dict[str, int]:
    found: Counter[str] = Counter()
    for delegate in plan.delegates or ():
        found[delegate.id or ""] += len(delegate_bytes(file.content, delegate))
    return dict(sorted(found.items()))


def _paired(
    section: str, method: str, left: Mapping[str, int], right: Mapping[str, int]
) -> Iterator[Figure]:
    for what in dict.fromkeys((*left, *right)):
        yield Figure(section, method, what, left.get(what, 0), right.get(what, 0))
