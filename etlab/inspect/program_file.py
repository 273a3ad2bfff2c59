"""`ProgramFile`: a .pte file, ours or the official exporter's, with the same views."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import AccessError, InvalidArgumentError, NotFoundError
from etlab.exir.emit.dump import dump_program
from etlab.exir.external import DEFAULT_TAG
from etlab.exir.memory.from_program import plan_of_program
from etlab.exir.partition.host_only import host_file

if TYPE_CHECKING:
    from etlab.exir.emit.file import ProgramData
    from etlab.exir.emit.schema import ExecutionPlan
    from etlab.inspect.anatomy import Anatomy
    from etlab.inspect.estimates import EstimateReport
    from etlab.inspect.file_notes import FileNote
    from etlab.inspect.graph import GraphData
    from etlab.inspect.interface import BackendRow, OperatorRow, StateRow, ValueRow
    from etlab.inspect.memory import MemoryReport
    from etlab.inspect.netron import NetronView
    from etlab.inspect.profile import ProfileReport
    from etlab.inspect.size import SizeReport
    from etlab.inspect.table import Table
    from etlab.runtime import Program


@dataclass(frozen=True, eq=False)
class ProgramFile:
    """The bytes of a program and what can be said of them.

    Attributes:
        data: the whole file.
        name: file name for titles.
        tensor_data: the .ptd files with what the program keeps outside: content by file name.
        host_data: a .ptd file with what is for computers only (estimates of devices that are not
            here, what stands in for them); empty where there is nothing.
    """

    data: bytes = field(repr=False)
    name: str = "program.pte"
    tensor_data: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    host_data: bytes = field(default=b"", repr=False)

    @cached_property
    def program(self) -> "Program":
        """The program loaded in our runtime, verified in full.

        Raises:
            InvalidProgramError: the file is damaged, foreign or too new.
        """
        from etlab.runtime import Runtime

        return Runtime.get().load_program(self.data, data_path=self._data_files())

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

    def inputs(self, method: str = "forward") -> "Table[ValueRow]":
        """What a method takes: names, dtypes, shapes, and bounds of sizes that can change."""
        from etlab.inspect.interface import value_table

        return value_table(self._plan(method), "inputs", self.program.input_bounds(method))

    def outputs(self, method: str = "forward") -> "Table[ValueRow]":
        """What a method returns, flat."""
        from etlab.inspect.interface import value_table

        return value_table(self._plan(method), "outputs", ())

    def state(self, method: str = "forward") -> "Table[StateRow]":
        """The tensors that a method keeps from call to call, and if they have a first value."""
        from etlab.exir.memory.dataflow import unwritten_values
        from etlab.inspect.interface import state_table

        plan = self._plan(method)
        return state_table(plan, unwritten_values(plan))

    def operators(self, method: str = "forward") -> "Table[OperatorRow]":
        """The operators of a method, the commonest first, and who has kernels for them."""
        from etlab.inspect.interface import operator_table
        from etlab.runtime import Runtime

        names = Runtime.get().operator_registry.operator_names
        return operator_table(self._plan(method), names)

    def backends(self, method: str = "forward") -> "Table[BackendRow]":
        """The subgraphs that a method delegates, with what the compilers stored for them."""
        from etlab.inspect.interface import backend_table
        from etlab.runtime import Runtime

        names = set(Runtime.get().backend_registry.registered_backend_names)
        return backend_table(self._plan(method), self.content, names)

    @cached_property
    def notes(self) -> "Table[FileNote]":
        """Where the file is known to differ from the model in eager, in any runtime or in one."""
        from etlab.inspect.file_notes import file_notes

        bounded = {name for name in self.methods if self.program.input_bounds(name)}
        return file_notes(self.content.program.execution_plan or (), bounded)

    def graph(self, method: str = "forward") -> "GraphData":
        """Instructions and the values between them, as the file says, whoever wrote it."""
        from etlab.inspect.graph_program import program_graph
        from etlab.inspect.graph_tree import assemble

        return assemble(program_graph(self._plan(method)), title=self.name, stage="")

    def memory_plan(self, method: str = "forward") -> "MemoryReport":
        """Where the tensors of a method lie, as the file says."""
        from etlab.inspect.memory import MemoryReport

        plan = plan_of_program(self._plan(method))
        return MemoryReport(self.name, plan, self.estimates(method), self)

    @property
    def constant_bytes(self) -> int:
        """Bytes that are no program: weights, other constants, and what delegates were given."""
        inline = sum(len(one.storage or b"") for one in self.content.program.constant_buffer or ())
        held = sum(len(segment) for segment in self.content.segments)
        return inline + held + sum(map(len, self.tensor_data.values()))

    @cached_property
    def anatomy(self) -> "Anatomy":
        """Header, segments, what delegates hold, what is stored more than once."""
        from etlab.inspect.anatomy import anatomy

        return anatomy(self.data, self.content, self.name)

    def delegate_text(self, method: str = "forward", index: int = 0) -> str:
        """The graph of a delegated subgraph as text, or why there is none.

        Raises:
            NotFoundError: there is no such method or delegate.
        """
        from etlab.inspect.anatomy import delegate_bytes, describe_delegate

        delegates = self._plan(method).delegates or ()
        if not 0 <= index < len(delegates):
            raise NotFoundError(
                f"{self.name}: method '{method}' has {len(delegates)} delegates, none has number"
                f" {index}"
            )
        chosen = delegates[index]
        return describe_delegate(chosen.id or "", delegate_bytes(self.content, chosen))

    def dump(self, *, verbose: bool = False, delegates: bool = False) -> str:
        """The program as text, line by line.

        Args:
            verbose: with stack traces and tree specs.
            delegates: with the graphs of delegated subgraphs.
        """
        text = dump_program(self.content.program, verbose=verbose)
        for row in self.anatomy.delegates if delegates else ():
            inside = self.delegate_text(row.method, row.index).replace("\n", "\n  ")
            text += f"\n\ndelegate {row.index} of {row.method}\n  {inside}"
        return text

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
        loaded = (
            Runtime.get().load_program(self.data, data_path=self._data_files()).load_method(method)
        )
        assert loaded is not None
        return list(loaded.execute(list(inputs) if isinstance(inputs, tuple) else [inputs]))

    def profile(
        self,
        inputs: Any,
        *,
        method: str = "forward",
        runs: int = 20,
        warmup: int = 3,
        threads: int | None = None,
    ) -> "ProfileReport":
        """Where the time of a run goes; a file knows operators, not modules.

        Args:
            inputs: a tensor, or a tuple of the method's inputs.
            method: which one to run.
            runs: how often to run, with tracing and without.
            warmup: how often to run before.
            threads: of the kernels; None leaves the process's setting.
        """
        from etlab.inspect.of_run import measured_or_estimated
        from etlab.inspect.profile_reader import profile

        flat = list(inputs) if isinstance(inputs, tuple) else [inputs]
        measure = partial(
            profile,
            self.program,
            method,
            flat,
            model=self.name,
            runs=runs,
            warmup=warmup,
            threads=threads,
        )
        return measured_or_estimated(measure, self.estimates(method), method)

    def estimates(self, method: str = "forward") -> "EstimateReport":
        """What compilers expect of devices that run the delegates, as it was kept beside the file.

        Raises:
            InvalidProgramError: it is damaged.
        """
        from etlab.inspect.estimates import estimates_of_file

        return estimates_of_file(self, method)

    def save(self, path: str | Path) -> Path:
        """Write the file, and its .ptd files beside it; returns where.

        What is for computers only goes to `<name>.host.ptd`, which `etlab.load` finds there.

        A .ptd file keeps the name that was chosen for it; one without such a name is called as the
        program, so that two programs in one folder have each their own.

        Raises:
            AccessError: the place cannot be written.
        """
        target = Path(path)
        for place, data in {target: self.data, **self._beside(target)}.items():
            try:
                place.write_bytes(data)
            except OSError as error:
                raise AccessError(f"cannot write '{place}': {error.strerror}") from error
        return target

    def _beside(self, target: Path) -> dict[Path, bytes]:
        """Where each .ptd file goes when the program goes to `target`."""
        files = dict(self.tensor_data)
        own = target.with_suffix(".ptd").name
        candidates = (Path(self.name).with_suffix(".ptd").name, f"{DEFAULT_TAG}.ptd")
        unnamed = next((name for name in candidates if name in files), None)
        if unnamed is not None and own not in files:
            files[own] = files.pop(unnamed)
        places = {target.with_name(name): data for name, data in files.items()}
        return places | ({host_file(target): self.host_data} if self.host_data else {})

    def _data_files(self) -> list[bytes]:
        return [*self.tensor_data.values(), *([self.host_data] if self.host_data else [])]

    def size(self) -> "SizeReport":
        """What fills the file, and its .ptd files."""
        from etlab.inspect.size import size_report

        estimates = self.estimates() if "forward" in self.methods else None
        return size_report(
            self.data, title=self.name, tensor_data=self.tensor_data, estimates=estimates
        )

    def netron(self, *, weights: bool = False, height: int = 480) -> "NetronView":
        """The file in a Netron view that asks no network for anything.

        Args:
            weights: embed the weights too; without them a view is small and shows zeros.
            height: of the view, in pixels.
        """
        from etlab.inspect.netron import NetronView

        return NetronView.of(self.data, name=self.name, weights=weights, height=height)

    def _repr_html_(self) -> str:
        """What each method takes, returns and calls, and what is known to differ from eager."""
        rows: list[tuple[object, ...]] = []
        for method in self.methods:
            plan = plan_of_program(self._plan(method))
            most = ", ".join(row.operator for row in self.operators(method)[:4])
            backends = ", ".join(sorted({row.backend for row in self.backends(method)}))
            peak = display.format_bytes(plan.peak)
            rows.append((method, len(plan.steps), most, backends or "none", peak))
        columns = ("method", "instructions", "most called", "backends", "planned memory")
        parts = [display.table(columns, rows, numeric=("instructions", "planned memory"))]
        parts += [
            display.note(f"{note.method}, {note.subject}: {note.text}")
            for note in self.notes
            if note.where == "file"
        ]
        for method in self.methods:
            tables = (self.inputs(method), self.outputs(method), self.state(method))
            parts += [table._repr_html_() for table in tables if table]
        elsewhere = [note for note in self.notes if note.where != "file"]
        if elsewhere:
            text = f"{len(elsewhere)} kernels of the official runtime differ from eager"
            told = [f"{note.subject}: {note.text}" for note in elsewhere]
            parts.append(display.details(text, "".join(map(display.note, told))))
        size = display.format_bytes(len(self.data))
        return display.card(f"{self.name}, {size}", *parts, subtitle="a .pte program")

    def __repr__(self) -> str:
        """One line."""
        return f"ProgramFile({self.name}, {display.format_bytes(len(self.data))})"
