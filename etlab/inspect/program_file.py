"""`ProgramFile`: a .pte file, ours or the official exporter's, with the same views."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import AccessError, InvalidArgumentError, NotFoundError
from etlab.exir.emit.dump import dump_program
from etlab.exir.memory.from_program import plan_of_program

if TYPE_CHECKING:
    from etlab.exir.emit.file import ProgramData
    from etlab.exir.emit.schema import ExecutionPlan
    from etlab.inspect.memory import MemoryReport
    from etlab.inspect.netron import NetronView
    from etlab.inspect.size import SizeReport
    from etlab.runtime import Program


@dataclass(frozen=True, eq=False)
class ProgramFile:
    """The bytes of a program and what can be said of them.

    Attributes:
        data: the whole file.
        name: file name for titles.
    """

    data: bytes = field(repr=False)
    name: str = "program.pte"

    @cached_property
    def program(self) -> "Program":
        """The program loaded in our runtime, verified in full.

        Raises:
            InvalidProgramError: the file is damaged, foreign or too new.
        """
        from etlab.runtime import Runtime

        return Runtime.get().load_program(self.data)

    @cached_property
    def content(self) -> "ProgramData":
        """The file as dataclasses, read without our runtime, every offset checked.

        Raises:
            InvalidProgramError: the file is damaged, foreign or too new.
        """
        from etlab.exir.emit.file import read_program

        return read_program(self.data)

    @property
    def methods(self) -> list[str]:
        """Names of the methods."""
        return sorted(plan.name or "" for plan in self.content.program.execution_plan or ())

    def operators(self, method: str = "forward") -> dict[str, int]:
        """The operators of a method, delegates included, with how often each is called."""
        steps = plan_of_program(self._plan(method)).steps
        return dict(sorted(Counter(steps).items(), key=lambda item: (-item[1], item[0])))

    def memory_plan(self, method: str = "forward") -> "MemoryReport":
        """Where the tensors of a method lie, as the file says."""
        from etlab.inspect.memory import MemoryReport

        return MemoryReport(self.name, plan_of_program(self._plan(method)))

    def dump(self, *, verbose: bool = False) -> str:
        """The program as text, line by line.

        Args:
            verbose: with stack traces and tree specs.
        """
        return dump_program(self.content.program, verbose=verbose)

    def _plan(self, method: str) -> "ExecutionPlan":
        for plan in self.content.program.execution_plan or ():
            if plan.name == method:
                return plan
        raise NotFoundError(
            f"{self.name}: no method '{method}'; there are: {', '.join(self.methods)}"
        )

    def run(self, inputs: Any, method: str = "forward") -> list[Any]:
        """The flat outputs of one call of our runtime.

        Args:
            inputs: a tensor, or a tuple of the method's inputs.
            method: which one to call.
        """
        from etlab.runtime import Runtime

        if method not in self.methods:
            raise InvalidArgumentError(
                f"{self.name}: no method '{method}'; there are: {', '.join(self.methods)}"
            )
        loaded = Runtime.get().load_program(self.data).load_method(method)
        assert loaded is not None
        return list(loaded.execute(list(inputs) if isinstance(inputs, tuple) else [inputs]))

    def save(self, path: str | Path) -> Path:
        """Write the file; returns where.

        Raises:
            AccessError: the place cannot be written.
        """
        target = Path(path)
        try:
            target.write_bytes(self.data)
        except OSError as error:
            raise AccessError(f"cannot write '{path}': {error.strerror}") from error
        return target

    def size(self) -> "SizeReport":
        """What fills the file."""
        from etlab.inspect.size import size_report

        return size_report(self.data, title=self.name)

    def netron(self, *, weights: bool = False, height: int = 480) -> "NetronView":
        """The file in a Netron view that asks no network for anything.

        Args:
            weights: embed the weights too; without them a view is small and shows zeros.
            height: of the view, in pixels.
        """
        from etlab.inspect.netron import NetronView

        return NetronView.of(self.data, name=self.name, weights=weights, height=height)

    def _repr_html_(self) -> str:
        """A table of the methods."""
        rows: list[tuple[object, ...]] = []
        for method in self.methods:
            plan = plan_of_program(self._plan(method))
            names = ", ".join(list(self.operators(method))[:4])
            rows.append((method, len(plan.steps), names, display.format_bytes(plan.peak)))
        return display.table(
            ("method", "instructions", "most called", "planned memory"),
            rows,
            caption=f"{self.name}, {display.format_bytes(len(self.data))}",
            numeric=("instructions", "planned memory"),
        )

    def __repr__(self) -> str:
        """One line."""
        return f"ProgramFile({self.name}, {display.format_bytes(len(self.data))})"


def load(path: str | Path) -> ProgramFile:
    """Open a .pte file, whoever wrote it, and verify it.

    Raises:
        AccessError: the file cannot be read.
        InvalidProgramError: it is damaged, foreign or too new.
    """
    source = Path(path)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise AccessError(f"cannot read '{path}': {error.strerror}") from error
    file = ProgramFile(data, name=source.name)
    _ = file.program
    return file
