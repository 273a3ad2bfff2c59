"""`etlab.sensitivity` and `etlab.recommend`: which layers to keep in float, and what that buys."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch

from etlab import display
from etlab.arguments import as_arguments, check_model
from etlab.calibration import KEPT, Calibration
from etlab.choices import as_quantizer, with_float
from etlab.errors import InvalidArgumentError
from etlab.exporting import export, export_module
from etlab.numerics.metrics import metric as find_metric
from etlab.numerics.sensitivity import Judge, SensitivityReport, weigh_layers
from etlab.quantize import Quantizer, QuantizeRequest

if TYPE_CHECKING:
    import pandas

    from etlab.run import ExportRun

_UNITS = {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SAMPLES = 8  # that layers are judged on


def sensitivity(
    model: torch.nn.Module,
    example_inputs: Any,
    *,
    quantizer: Any = "int8",
    calibration: Any = None,
    metric: str = "sqnr_db",
    samples: int = _SAMPLES,
    dynamic_shapes: Any = None,
) -> SensitivityReport:
    """Quantize one layer at a time, and all but one, and compare the first output with float.

    Args:
        model: a module in eval mode.
        example_inputs: positional arguments of one call, as `etlab.export` takes them.
        quantizer: a quantizer or its name; one that takes `keep_float`.
        calibration: samples, as `etlab.export` takes them; layers are judged on the first of them.
        metric: the name of a metric.
        samples: how many of them; a model with state hears them one after the other.
        dynamic_shapes: as `torch.export.export` takes them.

    Raises:
        NotSupportedError: the quantizer does the same to the whole model.
        InvalidArgumentError: there is nothing to quantize.
        InterruptedExecutionError: a stage listener asked for a stop.
    """
    return _weigh(model, example_inputs, quantizer, calibration, metric, samples, dynamic_shapes)[1]


def _weigh(
    model: torch.nn.Module,
    example_inputs: Any,
    quantizer: Any,
    calibration: Any,
    metric: str,
    samples: int,
    dynamic_shapes: Any,
) -> tuple[Judge, SensitivityReport, Quantizer, Calibration]:
    check_model(model, "sensitivity")
    chosen = as_quantizer(quantizer)
    if chosen is None:
        raise InvalidArgumentError("sensitivity: expected a quantizer, got None; take 'int8'")
    inputs = as_arguments(example_inputs, "sensitivity")
    exported = export_module(model, inputs, dynamic_shapes)
    data = Calibration(calibration, exported, inputs)
    request = QuantizeRequest(model, exported, inputs, data, dynamic_shapes)
    switched = chosen.switched(request)
    judged = data.samples()[:samples] if samples <= KEPT else tuple(islice(data, samples))
    judge = Judge(switched, judged, metric)
    report = weigh_layers(judge, model=type(model).__name__, quantizer=chosen.name)
    return judge, report, chosen, data


@dataclass(frozen=True, eq=False)
class Recommendation:
    """A mixed configuration, what was predicted of it, and what it turned out to be.

    Attributes:
        budget: what was asked for.
        quantizer: to hand to `etlab.export`.
        keep_float: layers that stay in float.
        metric: the name of the metric.
        predicted: the metric in PyTorch, with single layers switched.
        predicted_bytes: of all weights.
        measured: the metric of the native program.
        measured_bytes: of the program's file.
        is_within: whether the measured program keeps the budget.
        sensitivity: what the choice was made from.
        run: the exported program.
    """

    budget: str
    quantizer: Quantizer
    keep_float: tuple[str, ...]
    metric: str
    predicted: float | None
    predicted_bytes: int
    measured: float | None
    measured_bytes: int
    is_within: bool
    sensitivity: SensitivityReport = field(repr=False)
    run: "ExportRun" = field(repr=False)

    def _rows(self) -> list[tuple[str, str, str]]:
        write = find_metric(self.metric).format
        return [
            (self.metric, write(self.predicted), write(self.measured)),
            (
                "size",
                f"{display.format_bytes(self.predicted_bytes)} of weights",
                f"{display.format_bytes(self.measured_bytes)} of file",
            ),
        ]

    def _title(self) -> str:
        kept = ", ".join(self.keep_float) or "no layer"
        verdict = "kept" if self.is_within else "not kept"
        return f"budget {self.budget} {verdict}: {self.quantizer.name} with {kept} in float"

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a figure."""
        import pandas

        return pandas.DataFrame(self._rows(), columns=["figure", "predicted", "measured"])

    def __str__(self) -> str:
        """A text table."""
        table = display.text_table(["figure", "predicted", "measured"], self._rows())
        return f"{self._title()}\n{table}"

    def _repr_html_(self) -> str:
        table = display.table(["figure", "predicted", "measured"], self._rows())
        return display.card("Recommendation", table, subtitle=self._title())


def recommend(
    model: torch.nn.Module,
    example_inputs: Any,
    *,
    budget: str,
    quantizer: Any = "int8",
    partitioner: Any = None,
    calibration: Any = None,
    metric: str | None = None,
    samples: int = _SAMPLES,
    dynamic_shapes: Any = None,
) -> Recommendation:
    """The fewest layers in float that reach an accuracy, or the most that a size allows.

    Layers are kept in float in the order of `etlab.sensitivity`. The choice is made in PyTorch,
    then exported and measured natively.

    Args:
        model: a module in eval mode.
        example_inputs: positional arguments of one call.
        budget: a bound of a metric (`"sqnr_db>=30"`, `"max_abs<=0.1"`) or of the weights' bytes
            (`"size<=4MB"`).
        quantizer: a quantizer or its name; one that takes `keep_float`.
        partitioner: for the export.
        calibration: samples, as `etlab.export` takes them.
        metric: what to weigh layers by; that of the budget, or "sqnr_db", by default.
        samples: how many samples layers are judged on.
        dynamic_shapes: as `torch.export.export` takes them.

    Raises:
        InvalidArgumentError: the budget cannot be read.
        NotSupportedError: the quantizer does the same to the whole model.
    """
    figure, bound = _read(budget)
    chosen_metric = metric or ("sqnr_db" if figure == "size" else figure)
    judge, report, base, data = _weigh(
        model, example_inputs, quantizer, calibration, chosen_metric, samples, dynamic_shapes
    )
    sizes = _Sizes(model, report, base)
    names = [row.layer for row in report.rows]
    if figure == "size":
        count = next((k for k in range(len(names), 0, -1) if sizes.of(names[:k]) <= bound), 0)
    else:
        count = _fewest(judge, names, bound)
    kept = tuple(names[:count])
    predicted = judge.score(names[count:], others=True)
    mixed = with_float(base, kept)
    run = export(
        model,
        example_inputs,
        quantizer=mixed,
        partitioner=partitioner,
        calibration=list(data.samples()) if calibration is not None else None,
        dynamic_shapes=dynamic_shapes,
    )
    parity = run.parity(list(judge.samples), paths=["native"], metrics=[chosen_metric])
    measured = parity.row("native").values.get(chosen_metric)
    measured_bytes = len(run.file.data)
    value = sizes.of(kept) if figure == "size" else measured
    return Recommendation(
        budget=budget,
        quantizer=mixed,
        keep_float=kept,
        metric=chosen_metric,
        predicted=predicted,
        predicted_bytes=sizes.of(kept),
        measured=measured,
        measured_bytes=measured_bytes,
        is_within=_keeps(figure, value, bound),
        sensitivity=report,
        run=run,
    )


def _read(budget: str) -> tuple[str, float]:
    """The figure and the bound of `sqnr_db>=30` or `size<4MB`."""
    match = re.fullmatch(r"\s*(\w+)\s*([<>])=?\s*([\d.]+)\s*(\w*)\s*", str(budget))
    if match is None or match[4].lower() not in _UNITS or (match[4] and match[1] != "size"):
        raise InvalidArgumentError(
            f"budget: expected a bound such as 'sqnr_db>=30' or 'size<=4MB', got {budget!r}"
        )
    name, sign = match[1], match[2]
    is_least = name != "size" and find_metric(name).higher_is_better
    if (sign == ">") != is_least:
        right = ">=" if is_least else "<="
        raise InvalidArgumentError(f"budget: {name} is bounded by {right}, got {budget!r}")
    return name, float(match[3]) * _UNITS[match[4].lower()]


def _keeps(figure: str, value: float | None, bound: float) -> bool:
    if value is None:
        return False
    if figure != "size" and find_metric(figure).higher_is_better:
        return value >= bound
    return value <= bound


def _fewest(judge: Judge, names: Sequence[str], bound: float) -> int:
    """The smallest number of leading names to keep in float; all of them if nothing reaches it."""
    low, high = 0, len(names)
    while low < high:
        middle = (low + high) // 2
        if _keeps(judge.metric.name, judge.score(names[middle:], others=True), bound):
            high = middle
        else:
            low = middle + 1
    return low


class _Sizes:
    """Bytes of a model's parameters, some layers in float and the others quantized."""

    def __init__(
        self, model: torch.nn.Module, report: SensitivityReport, quantizer: Quantizer
    ) -> None:
        self.elements = {row.layer: row.elements for row in report.rows}
        total = sum(parameter.numel() for parameter in model.parameters())
        self.rest = 4 * (total - sum(self.elements.values()))
        self.bits = 4 if quantizer.name in ("8da4w", "int4-weights") else 8

    def of(self, kept: Sequence[str]) -> int:
        """With these layers in float."""
        in_float = sum(self.elements[name] for name in kept)
        return self.rest + 4 * in_float + (sum(self.elements.values()) - in_float) * self.bits // 8
