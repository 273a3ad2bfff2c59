"""What a `ParityView` draws, from a `ParityReport`."""

import math
from typing import Any

from etlab.numerics import Closeness, LayerRow, Metric, ParityReport, TensorPair, metric
from etlab.numerics.comparison import REFERENCES
from etlab.numerics.depth_plot import path_colour

_MOST_POINTS = 400
_WORST = 5


def parity_content(report: ParityReport) -> dict[str, Any]:
    """Everything but the tensors of single operators, which the page asks for."""
    layers = report.layers
    shown = [metric(name) for name in (layers.metrics if layers is not None else ())]
    paths = layers.paths if layers is not None else []
    rows = list(layers) if layers is not None else []
    first = {row.operator: row for row in reversed(rows)}
    order = {name: place for place, name in enumerate(dict.fromkeys(r.operator for r in rows))}
    divergence = layers.first_divergence() if layers is not None else None
    diverging = {}
    for path in paths:
        found = layers.first_divergence(path) if layers is not None else None
        if found is not None:
            diverging[path] = order[found.operator]
    outputs = [metric(name) for name in report.metrics]
    return {
        "title": f"{report.model} against {report.reference}",
        "data": report.data,
        "warnings": list(report.warnings),
        "noise": ", ".join(
            f"{metric(name).label} {metric(name).format(value)}"
            for name, value in report.noise_floor.items()
        ),
        "reference": report.reference,
        "references": _references(report),
        "metrics": [_metric(one) for one in shown],
        "output_metrics": [_metric(one) for one in outputs],
        "outputs": [
            [row.path, row.output, row.status, row.reason, _cells(outputs, row.values)]
            for row in report.rows
        ],
        "paths": [[path, path_colour(path)] for path in paths],
        "operators": [
            [name, first[name].kind, first[name].module, _place(first[name])] for name in order
        ],
        "rows": {
            path: [[order[row.operator], *_row(row, shown)] for row in rows if row.path == path]
            for path in paths
        },
        "coverage": [
            [
                one.path,
                one.compared,
                one.local,
                one.total,
                [[reason, count] for reason, count in one.reasons.items()],
                str(one),
            ]
            for one in (layers.coverage if layers is not None else ())
        ],
        "diverging": diverging,
        "first": None if divergence is None else [divergence.path, order[divergence.operator]],
    }


def tensor_content(pair: TensorPair) -> dict[str, Any]:
    """Histograms, a sample of elements beside each other, and the worst elements."""
    counts = pair.counts
    flat = [side.detach().reshape(-1) for side in (pair.expected, pair.actual)]
    flat = [(side.abs() if side.is_complex() else side).double() for side in flat]
    far = (flat[1] - flat[0]).abs().nan_to_num(nan=math.inf)
    worst = far.topk(min(_MOST_POINTS // 8, far.numel())).indices.tolist()
    step = max(1, far.numel() // _MOST_POINTS)
    places = sorted({*range(0, far.numel(), step), *worst})
    points = [[_number(float(side[place])) for side in flat] for place in places]
    table = pair.worst(_WORST)
    return {
        "operator": pair.operator,
        "path": pair.path,
        "reference": pair.reference,
        "local": pair.local,
        "shape": list(pair.actual.shape),
        "sample": pair.sample,
        "low": counts.low,
        "high": counts.high,
        "actual": list(counts.actual),
        "expected": list(counts.expected),
        "clip": None if counts.clip is None else list(counts.clip),
        "beyond": list(counts.beyond),
        "points": points,
        "metrics": [
            [metric(name).label, metric(name).format(value)] for name, value in pair.metrics.items()
        ],
        "worst": [
            [", ".join(map(str, row[0])), *map(_number, map(float, row[1:]))]
            for row in table.itertuples(index=False)
        ],
    }


def _references(report: ParityReport) -> list[str]:
    if report.origin is None:
        return [report.reference]
    run = report.origin.run
    return [name for name in REFERENCES if name != "quantized" or run.quantized is not None]


def _metric(one: Metric) -> dict[str, Any]:
    return {
        "name": one.name,
        "label": one.label,
        "higher": one.higher_is_better,
        "decibel": one.name.endswith("_db"),
    }


def _place(row: LayerRow) -> str:
    return f"{row.source}  {row.line}".strip()


def _row(row: LayerRow, shown: list[Metric]) -> list[Any]:
    found = row.local or row.accumulated
    return [
        row.names,
        f"{row.computed_by} in {row.part}" if row.part else row.computed_by,
        row.diverges,
        row.reason,
        row.local_reason,
        row.known_reason,
        "" if found is None or found.steps is None else str(found.steps),
        _closeness(shown, row.accumulated),
        _closeness(shown, row.local),
    ]


def _closeness(shown: list[Metric], found: Closeness | None) -> list[Any] | None:
    return None if found is None else _cells(shown, found.values)


def _cells(shown: list[Metric], values: Any) -> list[Any]:
    """Of every metric the value and its text."""
    return [[_number(values.get(one.name)), one.format(values.get(one.name))] for one in shown]


def _number(value: float | None) -> float | str | None:
    """A number that JSON can carry."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
