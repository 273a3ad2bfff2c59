"""What reports say of single operators, as values by node: SQNR of a comparison, time of a run."""

from dataclasses import dataclass
from typing import Any

from etlab.errors import InvalidArgumentError
from etlab.inspect.delegation import DelegationReport
from etlab.inspect.profile import ProfileReport
from etlab.numerics.metrics import metric as metric_of
from etlab.numerics.report import ParityReport


@dataclass(frozen=True, slots=True)
class ReportValues:
    """Values by node, and how they are shown.

    Attributes:
        values: by name of a node, of a node of the exported graph, or of a delegate.
        name: what the legend says.
        unit: of the values.
        combine: how a closed group answers for its nodes.
    """

    values: dict[str, float]
    name: str
    unit: str
    combine: str


def is_report(values: Any) -> bool:
    """Whether `report_values` knows what to do with it."""
    return isinstance(values, ParityReport | DelegationReport | ProfileReport)


def report_values(
    report: Any, *, path: str = "native", metric: str = "sqnr_db", local: bool = False
) -> ReportValues:
    """The values of a `ParityReport`, a `ProfileReport` or a `DelegationReport` with times.

    Args:
        report: of the same run as the graph.
        path: of a parity report.
        metric: of a parity report.
        local: of a parity report: what the operator alone adds, not what has come together so far.

    Raises:
        InvalidArgumentError: the report holds no such values; the message says which it has.
    """
    if isinstance(report, DelegationReport):
        return _times(report)
    if isinstance(report, ProfileReport):
        times = {row.node: row.samples.p50 for row in report.instructions}
        label = "latency, estimated" if report.estimated else "latency"
        return ReportValues(times, label, "s", "sum")
    if report.layers is None:
        raise InvalidArgumentError("overlay: this report compares no layers; parity() does it")
    paths = sorted({row.path for row in report.layers})
    if path not in paths:
        raise InvalidArgumentError(
            f"overlay: this report has no path {path!r}; choose from {', '.join(paths)}"
        )
    better = metric_of(metric)
    values: dict[str, float] = {}
    for row in report.layers:
        closeness = row.local if local else row.accumulated
        value = closeness.values.get(metric) if closeness is not None else None
        if row.path == path and value is not None:
            values.update(dict.fromkeys((*row.together, row.operator), value))
    kind = "local " if local else ""
    unit = "dB" if metric.endswith("_db") else ""
    combine = "min" if better.higher_is_better else "max"
    return ReportValues(values, f"{kind}{better.label}, {path}", unit, combine)


def _times(report: DelegationReport) -> ReportValues:
    own = {call.node: call.seconds for call in report.calls if not call.part}
    parts = {part.name: part.seconds for part in report.parts}
    values = {name: time for name, time in (own | parts).items() if time is not None}
    cycles = {call.node: float(call.cycles) for call in report.calls if call.cycles is not None}
    if not values and cycles:
        return ReportValues(cycles, "cycles, estimated", "", "sum")
    if not values:
        raise InvalidArgumentError(
            "overlay: this report holds no times; run.delegation(runs=5) measures them"
        )
    return ReportValues(values, "latency", "s", "sum")
