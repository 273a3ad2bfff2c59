"""What a sweep measures of every configuration: closeness, bytes, time, memory, or your own."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from etlab import display
from etlab.errors import EtlabError, InvalidArgumentError, NotFoundError
from etlab.numerics.metrics import all_metrics
from etlab.numerics.metrics import metric as find_metric
from etlab.numerics.paths import DEVICE_PREFIX
from etlab.run import ExportRun

Samples = Sequence[tuple[Any, ...]]
Unit = Literal["", "bytes", "ms"]


@dataclass(frozen=True, slots=True)
class Objective:
    """One figure of a configuration.

    Attributes:
        name: of the column, and in bounds such as `"size<4MB"`; a Python name.
        measure: takes the exported run and the samples to judge on; None where it says nothing.
        higher_is_better: which way is better.
        unit: how values are written, and which units bounds may have.
        is_timed: whether it measures time: then no other worker of this machine computes meanwhile.
    """

    name: str
    measure: Callable[[ExportRun, Samples], float | None]
    higher_is_better: bool = False
    unit: Unit = ""
    is_timed: bool = False

    def __post_init__(self) -> None:
        """Refuse what could not be a column."""
        if not self.name.isidentifier():
            raise InvalidArgumentError(f"Objective: expected a Python name, got {self.name!r}")

    def format(self, value: float | None) -> str:
        """`value` as tables show it."""
        if value is None:
            return "n/a"
        if self.unit == "bytes":
            return display.format_bytes(int(value))
        if self.unit == "ms":
            return f"{value:.3f} ms"
        known = all_metrics().get(self.name)
        return known.format(value) if known is not None else f"{value:.4g}"

    def is_better(self, left: float, right: float) -> bool:
        """Whether `left` is strictly better than `right`."""
        return left > right if self.higher_is_better else left < right


def latency(*, threads: int = 1, runs: int = 20, warmup: int = 3) -> Objective:
    """The median time of whole native calls in milliseconds.

    Args:
        threads: of the kernels.
        runs: how often to run.
        warmup: how often to run before.
    """
    measure = functools.partial(_milliseconds, threads=threads, runs=runs, warmup=warmup)
    return Objective("latency", measure, unit="ms", is_timed=True)


def find_objective(given: Any) -> Objective:
    """An objective from an object or a name: "size", "latency", "memory", "arena" or a metric.

    Raises:
        NotFoundError: there is no such name.
        InvalidArgumentError: `given` is neither.
    """
    if isinstance(given, Objective):
        return given
    if not isinstance(given, str):
        raise InvalidArgumentError(
            f"objectives: expected names or etlab.sweeping.Objective, got {type(given).__name__}"
        )
    if given in _KNOWN:
        return _KNOWN[given]
    if given not in all_metrics():
        names = ", ".join([*_KNOWN, *all_metrics()])
        raise NotFoundError(f"no objective is called '{given}': choose from {names}")
    better = find_metric(given).higher_is_better
    return Objective(given, functools.partial(_closeness, metric=given), better)


def _closeness(run: ExportRun, samples: Samples, metric: str) -> float | None:
    """A metric of the outputs against eager ones: of the output that is worst.

    Native ones, or those of what stands in for a device that is not here.
    """
    path = next((name for name in run.paths if name.startswith(DEVICE_PREFIX)), "native")
    report = run.parity(list(samples), paths=[path], metrics=[metric], layers=False)
    rows = [row for row in report.rows if row.path == path]
    for row in rows:
        if row.status != "ok":
            raise EtlabError(f"{path}: {row.reason}")
    values = [row.values.get(metric) for row in rows]
    worst = find_metric(metric).worst(values)
    return None if worst is None else values[worst]


def _size(run: ExportRun, samples: Samples) -> float:
    outside = sum(len(data) for data in run.program.data_files().values())
    return len(run.file.data) + outside


def _milliseconds(
    run: ExportRun, samples: Samples, *, threads: int, runs: int, warmup: int
) -> float | None:
    report = run.profile(samples[0], runs=runs, warmup=warmup, threads=threads)
    is_elsewhere = report.estimated or report.stand_ins
    return None if is_elsewhere else report.end_to_end.p50 * 1e3


def _estimate(run: ExportRun, samples: Samples) -> float | None:
    report = run.estimates()
    return report.seconds * 1e3 if report else None


def _memory(run: ExportRun, samples: Samples) -> float:
    return run.memory(samples[0]).total


def _arena(run: ExportRun, samples: Samples) -> float:
    return run.memory_plan().peak


_KNOWN = {
    "size": Objective("size", _size, unit="bytes"),  # of the .pte and .ptd files
    "latency": latency(),  # measured; nothing where the program needs a device that is not here
    "estimate": Objective("estimate", _estimate, unit="ms"),  # of such devices' delegates
    "memory": Objective("memory", _memory, unit="bytes"),  # that a native run takes
    "arena": Objective("arena", _arena, unit="bytes"),  # planned peak
}
