"""The memory that a method takes, planned and real: every term of the total."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from etlab import display

if TYPE_CHECKING:
    import pandas

    from etlab.exir.memory.plan import MemoryPlan
    from etlab.run import ExportRun
    from etlab.runtime import MethodMemory

_NOTES = {
    "outputs": "of outputs that the program leaves to the caller",
    "inputs": "copies of inputs that came in another layout",
    "structures": "the method's tables of values and instructions",
    "temporary": "what operators take at most at once",
    "delegate workspace": "intermediate values and scratch of delegates",
    "packed weights": "constants of delegates in the form that their kernels read",
    "delegate buffers": "other buffers and large tables of delegates",
    "alignment": "for buffers that begin at cache lines",
}


@dataclass(frozen=True, slots=True)
class MemoryTerm:
    """One term of the total.

    Attributes:
        name: what it is.
        nbytes: what the runtime took.
        planned: what the compiler planned; None for what it does not.
        note: what lies there.
    """

    name: str
    nbytes: int
    planned: int | None
    note: str


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What a method takes in etlab's runtime: bytes that it asked for, without allocator headers.

    Attributes:
        model: name of the model.
        plan: what was planned.
        taken: what the runtime took, after a run.
        files: bytes of the program's files by name: the .pte file, and the .ptd files with what it
            keeps outside. A device holds them beside the total, in memory or in flash; the methods
            of a program share them.
    """

    model: str
    plan: "MemoryPlan"
    taken: "MethodMemory"
    files: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Bytes that the runtime took beside the files."""
        return self.taken.total

    @property
    def total_with_files(self) -> int:
        """Bytes that the runtime took, with the program's files held in memory."""
        return self.total + sum(self.files.values())

    @property
    def terms(self) -> tuple[MemoryTerm, ...]:
        """The terms of the total: every arena, then what is not planned where there is any."""
        found = [
            MemoryTerm(
                arena.name if len(self.plan.arenas) > 1 else "planned arena",
                taken.nbytes,
                arena.nbytes,
                "shared with other methods"
                if taken.is_shared
                else "activations, inputs and outputs",
            )
            for arena, taken in zip(self.plan.arenas, self.taken.arenas, strict=True)
        ]
        for name, note in _NOTES.items():
            nbytes = getattr(self.taken, name.replace(" ", "_"))
            if nbytes:
                found.append(MemoryTerm(name, nbytes, None, note))
        return tuple(found)

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a term."""
        import pandas

        names = ["name", "nbytes", "planned", "note"]
        frame = pandas.DataFrame(
            [{name: getattr(term, name) for name in names} for term in self.terms], columns=names
        )
        return frame.astype({"planned": "Int64"})

    def __repr__(self) -> str:
        """A table of the terms, and the total."""
        rows = [[term.name, f"{term.nbytes:,}", term.note] for term in self.terms]
        rows += [[name, f"{nbytes:,}", note] for name, nbytes, note in self._sums()]
        return f"MemoryUse({self.model})\n" + display.text_table(["memory", "bytes", "of"], rows)

    def _repr_html_(self) -> str:
        rows: list[list[Any]] = [
            [
                term.name,
                f"{term.nbytes:,}",
                "" if term.planned is None else f"{term.planned:,}",
                term.note,
            ]
            for term in self.terms
        ]
        rows += [[name, f"{nbytes:,}", "", note] for name, nbytes, note in self._sums()]
        return display.card(
            f"Memory of {self.model}, method {self.plan.method}",
            display.table(["memory", "bytes", "planned", "of"], rows, numeric=["bytes", "planned"]),
            subtitle="what the native runtime took; bookkeeping of delegates comes on top",
        )

    def _sums(self) -> list[tuple[str, int, str]]:
        """The total, the files, and both together."""
        note = "weights and program, read or mapped"
        files = [(name, nbytes, note) for name, nbytes in self.files.items()]
        both = [("total with files", self.total_with_files, "")] if files else []
        return [("total", self.total, ""), *files, *both]


def measure_memory(run: "ExportRun", inputs: Sequence[Any], method: str) -> MemoryUse:
    """What a method of a run takes, measured with a native run in memory of its own.

    Args:
        run: the exported model.
        inputs: flat, as `Method.execute` takes them.
        method: its name.

    Raises:
        EtlabError: the native runtime refuses or fails.
    """
    loaded = run.file.program.new_method(method, check_memory=False)
    loaded.execute(list(inputs))
    files = {run.file.name: len(run.file.data)}
    files |= {name: len(data) for name, data in run.file.tensor_data.items()}
    return MemoryUse(run.name, run.program.memory_plan(method), loaded.memory(), files)
