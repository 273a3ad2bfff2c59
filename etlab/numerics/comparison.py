"""Compares the operators of a run, path by path, on as many samples as are added."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Self

import torch

from etlab.errors import EtlabError, InterruptedExecutionError
from etlab.exir import stages
from etlab.exir.partition.registry import backend_class
from etlab.numerics.alignment import align
from etlab.numerics.distances import count_steps, distances
from etlab.numerics.layers import Closeness, Comparison, LayerRow, combine
from etlab.numerics.metrics import metric
from etlab.numerics.operators import QUANTIZE, Operator, reads_quantized_rows
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
from etlab.numerics.sites import Site
from etlab.numerics.subject import File, Subject

_RUNNERS: dict[str, Any] = {"native": native_runner, "official": official_runner}
COMPARABLE = ("eager", "exported", "quantized", *_RUNNERS)
REFERENCES = ("eager", "exported", "quantized")
_NO_MODULE = "no module returns it, so eager shows no value"


@dataclass(frozen=True, slots=True)
class _Pair:
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


class LayerComparison:
    """A comparison of layers; use it as a context manager.

    Args:
        run: the run.
        reference: "eager", "exported" or "quantized".
        paths: those to compare, of `COMPARABLE`; the reference is left out.
        metrics: names of metrics.
        local: whether to run every step alone on the reference's inputs, too.
        file: the program; the run's own by default.
        simulate: name of the backend with whose arithmetic the path "quantized" is computed;
            PT2E's own simulation by default.
    """

    def __init__(
        self,
        run: Subject,
        *,
        reference: str,
        paths: Sequence[str],
        metrics: Sequence[str],
        local: bool,
        file: File,
        simulate: str | None = None,
    ) -> None:
        """Align everything; nothing runs yet."""
        self._run = run
        self.reference = reference
        self.paths = [path for path in paths if path in COMPARABLE and path != reference]
        self._metrics = list(metrics)
        self._with_local = local
        self._lowered = run.quantized or run.exported
        self._exported = Recorder(run.exported)
        self._quantized = Recorder(run.quantized) if run.quantized is not None else None
        self._simulator = Simulator(run, simulate) if simulate is not None else self._quantized
        self._is_pt2e = simulate is None
        self._modules = module_outputs(run.exported)
        self.alignment = align(run, ProgramParts(file.content))
        self._nodes = {node.name: node for node in self._lowered.graph.nodes}
        self._is_lowered = self._quantized is None or reference == "quantized"
        self._opened = ExitStack()
        outside = tuple(file.tensor_data.values())
        self._programs = {
            path: ProgramValues(self.alignment, _with_data(_RUNNERS[path], outside))
            for path in self.paths
            if path in _RUNNERS
        }
        self._accumulated: dict[tuple[str, str], list[Closeness]] = {}
        self._local: dict[tuple[str, str], list[Closeness]] = {}
        self._kinds: dict[tuple[str, str], tuple[Comparison, str]] = {}
        self._reasons: dict[tuple[str, str], str] = {}
        self.failures: dict[str, str] = {}
        self._from_modules: Mapping[str, Any] = {}
        self.modules_equal = (0, 0)

    def __enter__(self) -> Self:
        """Open what the programs need."""
        for program in self._programs.values():
            self._opened.enter_context(program)
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self._opened.close()

    def add(self, sample: tuple[Any, ...]) -> None:
        """Compare one sample."""
        for pair in self._pairs(sample):
            key = (pair.path, pair.operator.name)
            found, self._kinds[key] = self._closeness(pair)
            table = self._local if pair.is_local else self._accumulated
            table.setdefault(key, []).append(found)

    def tensors(
        self, sample: tuple[Any, ...], operator: str, path: str, *, local: bool
    ) -> tuple[torch.Tensor, torch.Tensor] | None:
        """What a path and the reference computed for one operator, both as floats."""
        for pair in self._pairs(sample):
            if (pair.path, pair.operator.name, pair.is_local) == (path, operator, local):
                left, right = self._as_floats(pair.node, pair.actual), pair.expected
                return left, self._as_floats(pair.node, right)
        return None

    def note(self, path: str) -> str:
        """What the reader of a path's rows should know."""
        equal, total = self.modules_equal
        if path == "exported" and total:
            return f"{equal} of {total} modules equal the exported program to the bit"
        if path in self._programs and self._programs[path].changes_outputs:
            return "the program returns something else while its tensors are handed out"
        return ""

    def rows(self) -> tuple[LayerRow, ...]:
        """One row an operator and path, of all samples so far."""
        found = []
        for path in self.paths:
            arriving = 0.0
            for operator in self._operators:
                row = replace(self._row(path, operator), arriving=arriving)
                found.append(row)
                if row.accumulated is not None and not row.diverges:
                    arriving = max(arriving, row.accumulated.relative)
        return tuple(found)

    @property
    def _operators(self) -> tuple[Operator, ...]:
        return self.alignment.operators

    def _row(self, path: str, operator: Operator) -> LayerRow:
        key = (path, operator.name)
        accumulated = combine(self._accumulated.get(key, ()), self._metrics)
        local = combine(self._local.get(key, ()), self._metrics)
        kind, dtype = self._kinds.get(key, ("floats", ""))
        site = self.alignment.site(operator) if path in _RUNNERS else None
        reason = "" if accumulated is not None else self._why_not(path, operator)
        why = ""
        if local is None and accumulated is not None and site is not None and self._with_local:
            why = self._programs[path].local_reasons.get(site.node, "")
        return LayerRow(
            path,
            operator.name,
            operator.kind,
            operator.module,
            operator.source,
            operator.line,
            "" if site is None else site.part,
            "" if site is None else site.kind,
            self.alignment.together(operator) if site is not None else (),
            kind,
            dtype,
            accumulated,
            local,
            reason,
            why,
            known_reason=self._known_reason(site, local, kind),
        )

    def _known_reason(self, site: Site | None, local: Closeness | None, kind: Comparison) -> str:
        """What the backend says of a step whose integers are not all PT2E's."""
        if site is None or local is None or not self._is_pt2e or self.reference != "quantized":
            return ""
        is_equal = local.steps is not None and local.steps.equal == local.steps.total
        lowered = self._run.delegated.edge_graph().submodules.get(site.part)
        if is_equal or kind not in ("integers", "rows") or lowered is None:
            return ""
        return backend_class(lowered.backend_id).differences.get(site.kind, "")

    def _why_not(self, path: str, operator: Operator) -> str:
        if path in self.failures:
            return self.failures[path]
        if (path, operator.name) in self._reasons:
            return self._reasons[path, operator.name]
        if path in _RUNNERS:
            return self.alignment.why_not(operator)
        if path == "quantized" or self.reference == "quantized":
            folded = operator.folded_into
            return f"folded into '{folded}'" if folded else "left out by the quantizer"
        return _NO_MODULE

    def _pairs(self, sample: tuple[Any, ...]) -> Iterator[_Pair]:
        """Everything that is compared on one sample; a path that fails ends with its reason."""
        with stages.stage("compare layers"):
            truth = self._truth(sample)
        for path in self.paths:
            if path in self.failures:
                continue
            try:
                with stages.stage(f"layers of {path}"):
                    yield from self._of_path(path, sample, *truth)
            except InterruptedExecutionError:
                raise
            except EtlabError as error:
                self.failures[path] = " ".join(str(error).split())

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
            self.modules_equal = (equal, len(modules))
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
            first = self._nodes[operator.chain[0]]
            held = first.meta.get("val")
            if not isinstance(held, torch.Tensor) or held.shape != value.shape:
                continue
            forced[first.name] = value.to(held.dtype)
            if len(operator.chain) > 1:
                quantize = self._nodes[operator.chain[1]]
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
    ) -> Iterator[_Pair]:
        if path in _RUNNERS:
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
    ) -> Iterator[_Pair]:
        """A runtime's values against the lowered program's, or against the exported one's."""
        program = self._programs[path]
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
    ) -> Iterator[_Pair]:
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
    ) -> Iterator[_Pair]:
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
    ) -> Iterator[_Pair]:
        """The pair, or nothing and the reason."""
        key = (path, operator.name)
        actual, expected = _first(actual), _first(expected)
        if not isinstance(actual, torch.Tensor) or not isinstance(expected, torch.Tensor):
            self._reasons.setdefault(key, "the reference has no value of it")
        elif actual.shape != expected.shape:
            text = f"shapes differ: {tuple(actual.shape)} and {tuple(expected.shape)}"
            self._reasons[key] = text
        else:
            yield _Pair(path, operator, node, actual, expected, is_local)

    def _as_floats(self, node: str, value: torch.Tensor) -> torch.Tensor:
        """The value, dequantized where it is the integers of a quantization."""
        source = self._nodes.get(node)
        if source is None or str(source.target) != QUANTIZE or value.is_floating_point():
            return value
        arguments: Any = source.args
        return (value.to(torch.float64) - int(arguments[2])) * float(arguments[1])

    def _closeness(self, pair: _Pair) -> tuple[Closeness, tuple[Comparison, str]]:
        node, actual, expected = pair.node, pair.actual, pair.expected
        source = self._nodes.get(node)
        is_quantized = pair.path not in ("eager", "exported")
        is_quantize = source is not None and str(source.target) == QUANTIZE
        steps = None
        kind: Comparison = "floats"
        if is_quantize and not expected.is_floating_point():
            kind, steps = "integers", count_steps(actual, expected)
        elif self._quantized is not None and is_quantized != (self.reference == "quantized"):
            kind = "quantization"
        elif self._is_pt2e and source is not None and reads_quantized_rows(source):
            kind = "rows"
        dtype = str(expected.dtype).removeprefix("torch.")
        left, right = self._as_floats(node, actual), self._as_floats(node, expected)
        values = {name: metric(name).compute([left], [right]) for name in self._metrics}
        relative, peak = distances(left, right)
        return Closeness(values, None, steps, relative, peak), (kind, dtype)


def _first(value: Any) -> Any:
    """The first of several results."""
    return value[0] if isinstance(value, list | tuple) and value else value


def _with_data(runner: Any, tensor_data: tuple[bytes, ...]) -> Runner:
    def opened(content: bytes) -> Any:
        return runner(content, tensor_data)

    return opened
