"""Compares the operators of a run, path by path, on as many samples as are added."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import torch

from etlab.exir.partition.registry import backend_class
from etlab.numerics.distances import count_steps, distances
from etlab.numerics.layers import Closeness, Comparison, LayerRow, combine
from etlab.numerics.metrics import metric
from etlab.numerics.operators import QUANTIZE, Operator, reads_quantized_rows
from etlab.numerics.pairs import RUNNERS, Pair, PairedValues
from etlab.numerics.sites import Site
from etlab.numerics.subject import File, Subject

REFERENCES = ("eager", "exported", "quantized")


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
        self._metrics = list(metrics)
        self._with_local = local
        self._is_pt2e = simulate is None
        self._pairs = PairedValues(
            run, reference=reference, paths=paths, local=local, file=file, simulate=simulate
        )
        self.reference = reference
        self.alignment = self._pairs.alignment
        self._accumulated: dict[tuple[str, str], list[Closeness]] = {}
        self._local: dict[tuple[str, str], list[Closeness]] = {}
        self._kinds: dict[tuple[str, str], tuple[Comparison, str]] = {}

    def __enter__(self) -> Self:
        """Open what the programs need."""
        self._pairs.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self._pairs.__exit__(*error)

    def add(self, sample: tuple[Any, ...]) -> None:
        """Compare one sample."""
        for pair in self._pairs.of_sample(sample):
            key = (pair.path, pair.operator.name)
            found, self._kinds[key] = self._closeness(pair)
            table = self._local if pair.is_local else self._accumulated
            table.setdefault(key, []).append(found)

    def tensors(
        self, sample: tuple[Any, ...], operator: str, path: str, *, local: bool
    ) -> tuple[torch.Tensor, torch.Tensor] | None:
        """What a path and the reference computed for one operator, both as floats."""
        for pair in self._pairs.of_sample(sample):
            if (pair.path, pair.operator.name, pair.is_local) == (path, operator, local):
                left, right = self._as_floats(pair.node, pair.actual), pair.expected
                return left, self._as_floats(pair.node, right)
        return None

    def note(self, path: str) -> str:
        """What the reader of a path's rows should know."""
        return self._pairs.note(path)

    def rows(self) -> tuple[LayerRow, ...]:
        """One row an operator and path, of all samples so far."""
        found = []
        for path in self._pairs.paths:
            arriving = 0.0
            for operator in self.alignment.operators:
                row = replace(self._row(path, operator), arriving=arriving)
                found.append(row)
                if row.accumulated is not None and not row.diverges:
                    arriving = max(arriving, row.accumulated.relative)
        return tuple(found)

    def _row(self, path: str, operator: Operator) -> LayerRow:
        key = (path, operator.name)
        accumulated = combine(self._accumulated.get(key, ()), self._metrics)
        local = combine(self._local.get(key, ()), self._metrics)
        kind, dtype = self._kinds.get(key, ("floats", ""))
        site = self.alignment.site(operator) if path in RUNNERS else None
        reason = "" if accumulated is not None else self._pairs.why_not(path, operator)
        why = ""
        if local is None and accumulated is not None and site is not None and self._with_local:
            why = self._pairs.programs[path].local_reasons.get(site.node, "")
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

    def _as_floats(self, node: str, value: torch.Tensor) -> torch.Tensor:
        """The value, dequantized where it is the integers of a quantization."""
        source = self._pairs.nodes.get(node)
        if source is None or str(source.target) != QUANTIZE or value.is_floating_point():
            return value
        arguments: Any = source.args
        return (value.to(torch.float64) - int(arguments[2])) * float(arguments[1])

    def _closeness(self, pair: Pair) -> tuple[Closeness, tuple[Comparison, str]]:
        node, actual, expected = pair.node, pair.actual, pair.expected
        source = self._pairs.nodes.get(node)
        is_quantized = pair.path not in ("eager", "exported")
        is_quantize = source is not None and str(source.target) == QUANTIZE
        steps = None
        kind: Comparison = "floats"
        if is_quantize and not expected.is_floating_point():
            kind, steps = "integers", count_steps(actual, expected)
        elif self._run.quantized is not None and is_quantized != (self.reference == "quantized"):
            kind = "quantization"
        elif self._is_pt2e and source is not None and reads_quantized_rows(source):
            kind = "rows"
        dtype = str(expected.dtype).removeprefix("torch.")
        left, right = self._as_floats(node, actual), self._as_floats(node, expected)
        values = {name: metric(name).compute([left], [right]) for name in self._metrics}
        relative, peak = distances(left, right)
        return Closeness(values, None, steps, relative, peak), (kind, dtype)
