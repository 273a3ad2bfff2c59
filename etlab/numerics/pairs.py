"""Pairs of what a path and its reference compute for the same operator."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

import torch

from etlab.errors import EtlabError, InterruptedExecutionError
from etlab.exir import stages
from etlab.numerics.alignment import align
from etlab.numerics.operators import Operator
from etlab.numerics.parts import ProgramParts
from etlab.numerics.program_values import (
    ProgramValues,
    Runner,
    is_same,
    native_runner,
    official_runner,
)
from etlab.numerics.recording import Recorder, Recording, module_outputs, record_modules
from etlab.numerics.simulation import Simulator
from etlab.numerics.subject import File, Subject

RUNNERS: dict[str, Any] = {"native": native_runner, "official": official_runner}
COMPARABLE = ("eager", "exported", "quantized", *RUNNERS)
_NO_MODULE = "no module returns it, so eager shows no value"


@dataclass(frozen=True, slots=True)
class Pair:
    """What a path computed for an operator, and what it is compared with.

    Attributes:
        path: the path.
        operator: the operator.
        node: the lowered node whose value both are; empty where they are the exported one's.
        actual: what the path computed.
        expected: of the same shape.
        is_local: whether from the reference's inputs.
    """

    path: str
    operator: Operator
    node: str
    actual: torch.Tensor
    expected: torch.Tensor
    is_local: bool


class PairedValues:
    """The values of every path beside those of the reference; use it as a context manager.

    Args:
        run: the run.
        reference: "eager", "exported" or "quantized".
        paths: those to compare, of `COMPARABLE`; the reference is left out.
        local: whether to run every step alone on the reference's inputs, too.
        file: the program.
        simulate: name of the backend with whose arithmetic the path "quantized" is computed;
            PT2E's own simulation by default.

    Attributes:
        alignment: of the exported program's operators with the lowered program.
        nodes: of the lowered program, by name.
        programs: what the runtimes compute, by path.
    """

    def __init__(
        self,
        run: Subject,
        *,
        reference: str,
        paths: Sequence[str],
        local: bool,
        file: File,
        simulate: str | None,
    ) -> None:
        """Align everything; nothing runs yet."""
        self._run = run
        self.reference = reference
        self.paths = [path for path in paths if path in COMPARABLE and path != reference]
        self._with_local = local
        self._exported = Recorder(run.exported)
        self._quantized = Recorder(run.quantized) if run.quantized is not None else None
        self._simulator = Simulator(run, simulate) if simulate is not None else self._quantized
        self._modules = module_outputs(run.exported)
        self.alignment = align(run, ProgramParts(file.content))
        lowered = run.quantized or run.exported
        self.nodes = {node.name: node for node in lowered.graph.nodes}
        self._is_lowered = self._quantized is None or reference == "quantized"
        self._opened = ExitStack()
        outside = tuple(file.tensor_data.values())
        self.programs = {
            path: ProgramValues(self.alignment, _with_data(RUNNERS[path], outside))
            for path in self.paths
            if path in RUNNERS
        }
        self._reasons: dict[tuple[str, str], str] = {}
        self._failures: dict[str, str] = {}
        self._from_modules: Mapping[str, Any] = {}
        self._modules_equal = (0, 0)

    def __enter__(self) -> Self:
        """Open what the programs need."""
        for program in self.programs.values():
            self._opened.enter_context(program)
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self._opened.close()

    def note(self, path: str) -> str:
        """What the reader of a path's rows should know."""
        equal, total = self._modules_equal
        if path == "exported" and total:
            return f"{equal} of {total} modules equal the exported program to the bit"
        if path in self.programs and self.programs[path].changes_outputs:
            return "the program returns something else while its tensors are handed out"
        return ""

    def why_not(self, path: str, operator: Operator) -> str:
        """Why a path has no value of an operator to compare."""
        if path in self._failures:
            return self._failures[path]
        if (path, operator.name) in self._reasons:
            return self._reasons[path, operator.name]
        if path in RUNNERS:
            return self.alignment.why_not(operator)
        if path == "quantized" or self.reference == "quantized":
            folded = operator.folded_into
            return f"folded into '{folded}'" if folded else "left out by the quantizer"
        return _NO_MODULE

    @property
    def _operators(self) -> tuple[Operator, ...]:
        return self.alignment.operators

    def of_sample(self, sample: tuple[Any, ...]) -> Iterator[Pair]:
        """Everything that is compared on one sample; a path that fails ends with its reason."""
        with stages.stage("compare layers"):
            truth = self._truth(sample)
        for path in self.paths:
            if path in self._failures:
                continue
            try:
                with stages.stage(f"layers of {path}"):
                    yield from self._of_path(path, sample, *truth)
            except InterruptedExecutionError:
                raise
            except EtlabError as error:
                self._failures[path] = " ".join(str(error).split())

    def _truth(
        self, sample: tuple[Any, ...]
    ) -> tuple[Mapping[str, Any], Mapping[str, Any], Recording | None]:
        """The reference's values by exported node and by lowered node, and the forced run."""
        exported: dict[str, Any] = {}
        if self.reference != "quantized" or not {"eager", "exported"}.isdisjoint(self.paths):
            exported = self._exported.run(sample).computed
        if self.reference == "eager":
            modules = record_modules(self._run.model, sample, self._modules)
            equal = sum(is_same(exported[name], value) for name, value in modules.items())
            self._modules_equal = (equal, len(modules))
            self._from_modules = modules
            exported = {**exported, **modules}
        if self._quantized is None:
            return exported, exported, None
        if self.reference == "quantized":
            assert self._simulator is not None
            return exported, self._simulator.run(sample).computed, None
        forced = self._quantized.run(sample, self._forced(exported))
        return exported, forced.seen, forced

    def _forced(self, exported: Mapping[str, Any]) -> dict[str, Any]:
        """The reference's values as the quantized program would hold them."""
        forced = {}
        for operator in self._operators:
            value = exported.get(operator.name)
            if not operator.chain or not isinstance(value, torch.Tensor):
                continue
            first = self.nodes[operator.chain[0]]
            held = first.meta.get("val")
            if not isinstance(held, torch.Tensor) or held.shape != value.shape:
                continue
            forced[first.name] = value.to(held.dtype)
            if len(operator.chain) > 1:
                quantize = self.nodes[operator.chain[1]]
                target: Any = quantize.target
                forced[quantize.name] = target(forced[first.name], *quantize.args[1:])
        return forced

    def _of_path(
        self,
        path: str,
        sample: tuple[Any, ...],
        exported: Mapping[str, Any],
        lowered: Mapping[str, Any],
        forced: Recording | None,
    ) -> Iterator[Pair]:
        if path in RUNNERS:
            return self._of_program(path, sample, exported, lowered)
        if path == "quantized":
            return self._of_quantized(sample, exported, forced)
        return self._of_floats(path, sample, exported, lowered)

    def _of_program(
        self,
        path: str,
        sample: tuple[Any, ...],
        exported: Mapping[str, Any],
        lowered: Mapping[str, Any],
    ) -> Iterator[Pair]:
        """A runtime's values against the lowered program's, or against the exported one's."""
        program = self.programs[path]
        accumulated = program.accumulated(sample)
        local = program.local(lowered) if self._with_local else {}
        for operator in self._operators:
            site = self.alignment.site(operator)
            if site is None:
                continue
            table, name = (lowered, site.node) if self._is_lowered else (exported, operator.name)
            for values, is_local in ((accumulated, False), (local, True)):
                actual, expected = values.get(site.node), table.get(name)
                if actual is not None:
                    yield from self._paired(path, operator, site.node, actual, expected, is_local)

    def _of_quantized(
        self, sample: tuple[Any, ...], exported: Mapping[str, Any], forced: Recording | None
    ) -> Iterator[Pair]:
        """The simulation of the quantized model against a reference in floats."""
        assert self._simulator is not None
        recordings = [(self._simulator.run(sample).computed, False)]
        if self._simulator is self._quantized and forced is not None and self._with_local:
            recordings.append((forced.computed, True))
        for operator in self._operators:
            for values, is_local in recordings if operator.chain else ():
                node = operator.chain[-1]
                actual, expected = values.get(node), exported.get(operator.name)
                yield from self._paired("quantized", operator, node, actual, expected, is_local)

    def _of_floats(
        self,
        path: str,
        sample: tuple[Any, ...],
        exported: Mapping[str, Any],
        lowered: Mapping[str, Any],
    ) -> Iterator[Pair]:
        """Eager or the exported program against each other, or against the quantized one."""
        values = exported
        if path == "eager":
            values = record_modules(self._run.model, sample, self._modules)
        elif self.reference == "eager":
            computed = self._exported.run(sample).computed
            values = {name: computed[name] for name in self._from_modules}
        for operator in self._operators:
            actual, expected = values.get(operator.name), exported.get(operator.name)
            if self.reference == "quantized":
                expected = lowered.get(operator.chain[-1]) if operator.chain else None
            if actual is not None:
                yield from self._paired(path, operator, "", actual, expected, False)

    def _paired(
        self,
        path: str,
        operator: Operator,
        node: str,
        actual: Any,
        expected: Any,
        is_local: bool,
    ) -> Iterator[Pair]:
        """The pair, or nothing and the reason."""
        key = (path, operator.name)
        actual, expected = _first(actual), _first(expected)
        if not isinstance(actual, torch.Tensor) or not isinstance(expected, torch.Tensor):
            self._reasons.setdefault(key, "the reference has no value of it")
        elif actual.shape != expected.shape:
            text = f"shapes differ: {tuple(actual.shape)} and {tuple(expected.shape)}"
            self._reasons[key] = text
        else:
            yield Pair(path, operator, node, actual, expected, is_local)


def _first(value: Any) -> Any:
    """The first of several results."""
    return value[0] if isinstance(value, list | tuple) and value else value


def _with_data(runner: Any, tensor_data: tuple[bytes, ...]) -> Runner:
    def opened(content: bytes) -> Any:
        return runner(content, tensor_data)

    return opened
