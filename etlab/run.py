"""`ExportRun`: one model at every stage, from the eager module to the program that ships."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from etlab import display
from etlab.arguments import as_arguments, check_sample
from etlab.errors import NotFoundError
from etlab.exir.stages import StageListener, listen
from etlab.inspect.program_file import ProgramFile

if TYPE_CHECKING:
    from etlab.devtools import ETRecord
    from etlab.exir import EdgeProgramManager, ExecutorchProgramManager
    from etlab.inspect.delegation import DelegationReport
    from etlab.inspect.estimates import EstimateReport
    from etlab.inspect.graph import GraphData
    from etlab.inspect.graph_passes import PassHistory
    from etlab.inspect.lint import LintReport
    from etlab.inspect.memory import MemoryReport
    from etlab.inspect.memory_use import MemoryUse
    from etlab.inspect.netron import NetronView
    from etlab.inspect.profile import ProfileReport
    from etlab.inspect.size import SizeReport
    from etlab.numerics import ParityReport, TensorPair

# The listener stands here too: whoever shows a run's progress needs nothing else of the compiler.
__all__ = ["PATHS", "STAGES", "ExportRun", "StageListener", "listen"]

STAGES = ("eager", "aten", "quantized", "edge", "delegated", "program")
PATHS = ("eager", "exported", "quantized", "native", "official")


class Stages(dict[str, Any]):
    """The forms of a model by stage name; asking for one that is not there says which are."""

    def __missing__(self, name: str) -> Any:
        """Refuse in words."""
        why = "; export with a quantizer to have it" if name == "quantized" else ""
        raise NotFoundError(f"no stage {name!r} in this run: choose from {', '.join(self)}{why}")


@dataclass(frozen=True, eq=False)
class ExportRun:
    """A model at every stage; results are values, nothing here changes the model.

    Attributes:
        name: of the model.
        model: the user's module.
        exported: what `torch.export` made of it.
        quantized: the quantized exported program; None without a quantizer.
        delegated: the edge programs after partitioning.
        program: the finished program.
        example_inputs: positional arguments of the export.
        calibration: samples that the quantizer saw.
        partitioner: its name as text, "none" without.
        quantizer: its name as text, "none" without.
        seconds: time of every stage, in order.
        notes: what the user should know about this export.
        options: keyword arguments of `etlab.export` that make it once more.
    """

    name: str
    model: torch.nn.Module = field(repr=False)
    exported: ExportedProgram = field(repr=False)
    quantized: ExportedProgram | None = field(repr=False)
    delegated: "EdgeProgramManager" = field(repr=False)
    program: "ExecutorchProgramManager" = field(repr=False)
    example_inputs: tuple[Any, ...] = field(repr=False)
    calibration: tuple[tuple[Any, ...], ...] = field(repr=False)
    partitioner: str
    quantizer: str
    seconds: Mapping[str, float] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False, default=())
    transform_passes: tuple[Any, ...] = field(repr=False, default=())
    options: Mapping[str, Any] = field(repr=False, default_factory=dict)

    @functools.cached_property
    def edge(self) -> "EdgeProgramManager":
        """The edge programs before partitioning."""
        from etlab.exir import to_edge

        if self.partitioner == "none":
            return self.delegated
        manager = to_edge(self.quantized or self.exported)
        return manager.transform(list(self.transform_passes)) if self.transform_passes else manager

    @property
    def stages(self) -> "Stages":
        """Every stage that this run has, by name and in order."""
        found = {
            "eager": self.model,
            "aten": self.exported,
            "quantized": self.quantized,
            "edge": self.edge,
            "delegated": self.delegated,
            "program": self.program,
        }
        return Stages((name, found[name]) for name in STAGES if found[name] is not None)

    @functools.cached_property
    def file(self) -> ProgramFile:
        """The program as a file in memory."""
        outside = self.program.data_files()
        name, host_data = f"{self.name}.pte", self.program.host_data()
        return ProgramFile(bytes(self.program.buffer), name, outside, host_data)

    def save(self, path: str | Path) -> Path:
        """Write the .pte file, and .ptd files beside it; returns where the former is."""
        return self.file.save(path)

    def again(self, *, keep_float: Sequence[str] = (), **changes: Any) -> "ExportRun":
        """The same export once more, with other arguments of `etlab.export`.

        Args:
            keep_float: modules that the quantizer is to leave in float, beside those it left.
            **changes: the arguments.

        Raises:
            NotSupportedError: the quantizer leaves nothing in float.
            EtlabError: as `etlab.export`.
        """
        from etlab.exporting import export_again

        return export_again(self, keep_float, changes)

    def run(self, inputs: Any, path: str = "native") -> Any:
        """The outputs for one call, in the structure that the model returns.

        Args:
            inputs: a tensor, or a tuple of positional arguments.
            path: "eager", "exported", "quantized", "native", "official", or a device such as
                "device:aarch64-qemu" (see `etlab.devices`).

        Raises:
            InvalidArgumentError: there is no such path in this run, or the exported program takes
                other inputs.
            EtlabError: the path refuses or fails; state starts afresh in every call.
        """
        from etlab.numerics.run_paths import paths_of

        sample = as_arguments(inputs, "run")
        chosen = paths_of(self, [path])[path]
        if path in ("exported", "quantized"):
            check_sample(self.exported, sample, "run")
        with chosen() as call:
            flat = call(sample)
        tree = self.exported.call_spec.out_spec
        return _pytree.tree_unflatten(flat, tree) if tree is not None else flat

    def parity(
        self,
        inputs: Any = None,
        *,
        reference: str = "eager",
        paths: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
        layers: bool | int = True,
        local: bool = True,
        simulate: str | None = None,
    ) -> "ParityReport":
        """Run every path on the same inputs and compare what comes out, and every operator.

        Args:
            inputs: a tensor, a tuple of arguments, or a list of such tuples (samples); by default
                the calibration data, or else the example inputs.
            reference: the path that is right by definition.
            paths: which paths to compare; by default all that this run has. Devices
                ("device:aarch64-qemu") are compared when they are named.
            metrics: names of metrics; the standard ones by default.
            layers: compare the operators, too, on the first two samples, or on as many as this
                number. ExecuTorch's runtime is asked for its operators only when `paths` names it.
            local: run the program's steps one by one on the reference's inputs, too, which tells
                where an error begins from where it only arrives.
            simulate: name of a backend, such as "xnnpack": the path "quantized" is computed with
                its integer arithmetic instead of PT2E's, and is then what its devices compute.

        Raises:
            InvalidArgumentError: the exported program does not take such inputs, or there is no
                such path.
            NotFoundError: there is no such metric or backend.
        """
        from etlab.numerics.of_run import parity_of_run

        return parity_of_run(
            self,
            inputs,
            reference=reference,
            paths=paths,
            metrics=metrics,
            layers=layers,
            local=local,
            simulate=simulate,
        )

    def tensors(
        self,
        node: str,
        inputs: Any = None,
        *,
        path: str = "native",
        reference: str = "eager",
        local: bool = False,
    ) -> "TensorPair":
        """What a path and its reference compute for one operator.

        Args:
            node: the operator's name in the exported program, as in the rows of a parity report.
            inputs: a tensor or a tuple of arguments; by default the first calibration sample, or
                else the example.
            path: "native", "quantized", "exported" or "official".
            reference: "eager", "exported" or "quantized".
            local: compute it from the reference's inputs, not from the path's own values.

        Raises:
            InvalidArgumentError: no such operator, or the path has no value of it; the message says
                why.
        """
        from etlab.numerics.of_run import tensors_of_run

        return tensors_of_run(self, inputs, node, path=path, reference=reference, local=local)

    @property
    def paths(self) -> list[str]:
        """The ways this run can compute outputs, stand-ins for devices that are not here last."""
        from etlab.numerics.run_paths import stand_in_paths

        own = [name for name in PATHS if name != "quantized" or self.quantized is not None]
        return own + stand_in_paths(self.delegated)

    def estimates(self, method: str = "forward") -> "EstimateReport":
        """What compilers of devices that are not here expect of them: cycles, bytes, places."""
        from etlab.inspect.of_run import estimates_of_run

        return estimates_of_run(self, method)

    def memory_plan(
        self, method: str = "forward", *, planner: Any = None, **changes: Any
    ) -> "MemoryReport":
        """Where every tensor of a method lives and for how long.

        With a planner (a name, or a function of intervals) or other arguments of
        `MemoryPlanningPass`: where they would, planned so; the program stays as it is.

        Raises:
            MemoryPlanError: a memory would be too small.
        """
        from etlab.inspect.memory import report_memory

        return report_memory(self, method, planner, changes)

    def memory(self, inputs: Any = None, method: str = "forward") -> "MemoryUse":
        """The bytes that a native run takes, by what they are for; on the example by default."""
        from etlab.inspect.of_run import memory_of_run

        return memory_of_run(self, inputs, method)

    def delegation(
        self, method: str = "forward", *, runs: int = 0, inputs: Any = None
    ) -> "DelegationReport":
        """What was given to backends, and why the rest was not.

        Args:
            method: which method of the program.
            runs: how often to run it natively to measure times; 0 leaves times out.
            inputs: what to run it on; by default the first calibration sample, or else the example.

        Raises:
            EtlabError: the native runtime refuses or fails.
        """
        from etlab.inspect.of_run import delegation_of_run

        return delegation_of_run(self, inputs, method, runs=runs)

    def profile(
        self,
        inputs: Any = None,
        *,
        method: str = "forward",
        runs: int = 20,
        warmup: int = 3,
        threads: int | None = None,
    ) -> "ProfileReport":
        """Where the time of a native run goes; estimates where it needs a device that is not here.

        Args:
            inputs: what to run it on; by default the first calibration sample, or else the example.
            method: which method of the program.
            runs: how often to run, with tracing and without.
            warmup: how often to run before.
            threads: of the kernels; None leaves the process's setting.

        Raises:
            InvalidArgumentError: a count is out of range.
            EtlabError: the native runtime refuses or fails.
        """
        from etlab.inspect.of_run import profile_run

        return profile_run(self, inputs, method, runs=runs, warmup=warmup, threads=threads)

    @functools.cached_property
    def etrecord(self) -> "ETRecord":
        """The graphs of this run and the way from instructions to them, for an `Inspector`.

        Its inputs are the first calibration sample, or else the example; its reference outputs are
        what the model makes of them in eager.
        """
        from etlab.inspect.of_run import record_run

        return record_run(self)

    def size(self) -> "SizeReport":
        """What fills the file, and its .ptd files."""
        from etlab.inspect.of_run import size_of_run

        return size_of_run(self)

    def lint(self, rules: Sequence[str] | None = None) -> "LintReport":
        """What costs bytes or time for nothing, with remedies; `rules` by name, all by default."""
        from etlab.inspect.of_run import lint_run

        return lint_run(self, rules)

    def graph(self, stage: str = "delegated", method: str = "forward") -> "GraphData":
        """Nodes, edges and modules of a stage; delegates are open.

        Args:
            stage: one of `run.stages`.
            method: which one, of the stages that have several.
        """
        from etlab.inspect.graph_stages import stage_graph

        return stage_graph(self.stages, stage, method, name=self.name)

    def passes(self, method: str = "forward") -> "PassHistory":
        """What every pass of the compiler does to a method, with the graph after each.

        The model is lowered again for it, without delegates.
        """
        from etlab.inspect.graph_passes import pass_history

        return pass_history(self.stages, method, name=self.name, passes=self.transform_passes)

    def netron(self, *, weights: bool = False, height: int = 480) -> "NetronView":
        """The program in a Netron view that asks no network for anything."""
        return self.file.netron(weights=weights, height=height)

    def __repr__(self) -> str:
        """One line, the same for the same export."""
        size = display.format_bytes(len(self.file.data))
        return (
            f"ExportRun({self.name}: partitioner {self.partitioner}, quantizer {self.quantizer}, "
            f"{size} program)"
        )

    def _repr_html_(self) -> str:
        from etlab.inspect.run_card import run_card

        return run_card(self)
