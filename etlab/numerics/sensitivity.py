"""What it costs to quantize each layer of a model: alone, and as the only one that is not."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree

from etlab import display
from etlab.errors import InvalidArgumentError
from etlab.exir import stages
from etlab.numerics.data import describe, warnings_about
from etlab.numerics.metrics import metric as find_metric

if TYPE_CHECKING:
    import pandas

    from etlab.quantize.base import Switched

_COLUMNS = ("layer", "weights", "only this", "all but this")


@dataclass(frozen=True, slots=True)
class LayerSensitivity:
    """One layer.

    Attributes:
        layer: its module's name.
        elements: of its weight.
        alone: the metric with this layer quantized only.
        spared: the metric with everything quantized but this layer.
    """

    layer: str
    elements: int
    alone: float | None
    spared: float | None


@dataclass(frozen=True, slots=True)
class SensitivityReport:
    """Layers, the most sensitive first, judged in PyTorch against the model in float.

    Attributes:
        model: its name.
        quantizer: as text.
        metric: the name of the metric.
        rows: one a layer.
        quantized: the metric with everything quantized.
        others: the metric with what is no layer quantized only: sums, pools, activations.
        data: what the samples were, in words.
        warnings: what the reader should know before trusting the numbers.
    """

    model: str
    quantizer: str
    metric: str
    rows: tuple[LayerSensitivity, ...]
    quantized: float | None
    others: float | None
    data: str
    warnings: tuple[str, ...] = ()

    def worst(self, n: int = 5) -> tuple[LayerSensitivity, ...]:
        """The `n` most sensitive layers."""
        return self.rows[:n]

    def to_quantizer_overrides(self, k: int) -> dict[str, Any]:
        """Parameters for the same quantizer that keep the `k` most sensitive layers in float.

        Raises:
            InvalidArgumentError: there are fewer layers.
        """
        if not 0 <= k <= len(self.rows):
            raise InvalidArgumentError(
                f"to_quantizer_overrides: expected 0 to {len(self.rows)} layers, got {k}"
            )
        return {"keep_float": tuple(row.layer for row in self.rows[:k])}

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a layer."""
        import pandas

        return pandas.DataFrame(
            [(row.layer, row.elements, row.alone, row.spared) for row in self.rows],
            columns=["layer", "elements", "alone", "spared"],
        )

    def _cells(self) -> list[list[str]]:
        write = find_metric(self.metric).format
        return [
            [row.layer, f"{row.elements:,}", write(row.alone), write(row.spared)]
            for row in self.rows
        ]

    def _title(self) -> str:
        chosen = find_metric(self.metric)
        return (
            f"{self.model}, {self.quantizer}: {chosen.label} against float,"
            f" {chosen.format(self.quantized)} with everything quantized,"
            f" {chosen.format(self.others)} with what is no layer only; on {self.data}"
        )

    def __str__(self) -> str:
        """A text table."""
        notes = [f"note: {text}" for text in self.warnings]
        return "\n".join([self._title(), display.text_table(_COLUMNS, self._cells()), *notes])

    def __repr__(self) -> str:
        """One line."""
        return f"SensitivityReport({self.model}: {len(self.rows)} layers, {self.metric})"

    def _repr_html_(self) -> str:
        table = display.table(_COLUMNS, self._cells(), numeric=_COLUMNS[1:])
        notes = [display.note(text) for text in self.warnings]
        return display.card("Sensitivity", *notes, table, subtitle=self._title())


class Judge:
    """Compares a model's first output on some samples with what it was in float.

    Args:
        switched: the model.
        samples: arguments of each call.
        metric: the name of the metric.
    """

    def __init__(
        self, switched: "Switched", samples: Sequence[tuple[Any, ...]], metric: str
    ) -> None:
        self.switched, self.samples = switched, samples
        self.metric = find_metric(metric)
        with switched.quantized((), others=False) as call:
            self.expected = self._outputs(call)

    def score(self, layers: Collection[str], *, others: bool) -> float | None:
        """The metric with these layers quantized."""
        with self.switched.quantized(layers, others=others) as call:
            return self.metric.compute(self._outputs(call), self.expected)

    def _outputs(self, call: Callable[..., Any]) -> list[torch.Tensor]:
        outputs = []
        for sample in self.samples:
            leaves = _pytree.tree_leaves(call(*sample))
            outputs.append(next(leaf for leaf in leaves if isinstance(leaf, torch.Tensor)))
        return outputs


def weigh_layers(judge: Judge, *, model: str, quantizer: str) -> SensitivityReport:
    """Quantize one layer at a time, and all but one.

    Raises:
        InvalidArgumentError: the quantizer finds no layer.
        InterruptedExecutionError: a stage listener asked for a stop.
    """
    layers: Mapping[str, int] = judge.switched.layers
    if not layers:
        raise InvalidArgumentError(
            f"sensitivity: quantizer '{quantizer}' finds no layer in {model}"
        )
    rows = [
        LayerSensitivity(
            name,
            layers[name],
            judge.score([name], others=False),
            judge.score([other for other in layers if other != name], others=True),
        )
        for name in stages.parts("weigh layers", layers, len(layers))
    ]
    sign = -1.0 if judge.metric.higher_is_better else 1.0
    rows.sort(key=lambda row: (-sign * _number(row.alone), sign * _number(row.spared)))
    return SensitivityReport(
        model=model,
        quantizer=quantizer,
        metric=judge.metric.name,
        rows=tuple(rows),
        quantized=judge.score(layers, others=True),
        others=judge.score((), others=True),
        data=describe(judge.samples),
        warnings=tuple(warnings_about(judge.samples)),
    )


def _number(value: float | None) -> float:
    return float("inf") if value is None else value
