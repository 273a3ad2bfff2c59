"""The rows of a `ProfileReport`: times of single nodes, and of groups of them."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from etlab import display


def percentile(values: Sequence[float], share: float) -> float:
    """A percentile, between neighbours where it falls between.

    >>> percentile([1.0, 2.0, 4.0], 0.5), percentile([1.0, 2.0], 0.9)
    (2.0, 1.9)
    """
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of the same thing in several runs.

    Attributes:
        seconds: one a run.
    """

    seconds: tuple[float, ...]

    @property
    def p50(self) -> float:
        """The median, seconds."""
        return percentile(self.seconds, 0.5)

    @property
    def p90(self) -> float:
        """Nine of ten runs took less, seconds."""
        return percentile(self.seconds, 0.9)

    @property
    def mean(self) -> float:
        """The mean, seconds."""
        return statistics.fmean(self.seconds)

    @property
    def least(self) -> float:
        """The quickest run, seconds."""
        return min(self.seconds)

    @property
    def spread(self) -> float:
        """How much longer the 90th percentile is than the median, as a share of it."""
        return self.p90 / self.p50 - 1 if self.p50 else 0.0

    def __str__(self) -> str:
        """Median, 90th percentile and least, in milliseconds."""
        median, ninetieth, least = map(display.milliseconds, (self.p50, self.p90, self.least))
        return f"p50 {median}, p90 {ninetieth}, least {least}"


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One instruction's node, or one node within a delegate.

    Attributes:
        node: of the lowered graph, or the delegate's kind of node with its debug handle.
        operator: what it computes.
        kind: "operator", "delegate" (a whole call) or "delegate node".
        backend: who runs it; empty for our own kernels.
        part: node of the delegate's call that it is within; empty for none.
        module: path of its module.
        source: `file.py:line` of the model.
        calls: how often it ran in one run.
        samples: its time in every run, all calls together.
        flops: of matrix products, convolutions and attention, at the example's sizes; None unknown.
        nbytes: that it reads and writes at least, weights included; None unknown.
        roof: the least time that this machine's measured limits allow; None unknown.
    """

    node: str
    operator: str
    kind: str
    backend: str
    part: str
    module: str
    source: str
    calls: int
    samples: Samples
    flops: int | None = None
    nbytes: int | None = None
    roof: float | None = None

    @property
    def gflops(self) -> float | None:
        """Achieved, 10⁹ operations a second at the median time; None when it has none."""
        return self.flops / self.samples.p50 / 1e9 if self.flops and self.samples.p50 else None

    @property
    def gbps(self) -> float | None:
        """Achieved, 10⁹ bytes a second; more than memory gives when they come from a cache."""
        return self.nbytes / self.samples.p50 / 1e9 if self.nbytes and self.samples.p50 else None

    @property
    def of_roof(self) -> float | None:
        """The least possible time as a share of the median; above 1 when caches help."""
        return self.roof / self.samples.p50 if self.roof and self.samples.p50 else None


@dataclass(frozen=True, slots=True)
class ProfileGroup:
    """Rows with the same operator, module or line.

    Attributes:
        name: what they share.
        rows: how many.
        p50_ms: the median over runs of their sum, milliseconds.
        p90_ms: its 90th percentile.
        share: of the sum over everything.
        gflops: achieved by all of them together; None when they have no such operations.
        gbps: likewise.
    """

    name: str
    rows: int
    p50_ms: float
    p90_ms: float
    share: float
    gflops: float | None
    gbps: float | None


def sum_of(rows: Iterable[ProfileRow]) -> Samples:
    """The sums over rows, run by run."""
    totals = [math.fsum(run) for run in zip(*(row.samples.seconds for row in rows), strict=True)]
    return Samples(tuple(totals) or (0.0,))


def group_of(name: str, rows: Sequence[ProfileRow], total: float) -> ProfileGroup:
    """What rows take together; `total` is what their share is of, in seconds."""
    samples = sum_of(rows)
    amounts: Mapping[str, int] = {
        what: sum(getattr(row, what) or 0 for row in rows) for what in ("flops", "nbytes")
    }
    per_second = {
        what: amount / samples.p50 / 1e9 if amount and samples.p50 else None
        for what, amount in amounts.items()
    }
    return ProfileGroup(
        name,
        len(rows),
        samples.p50 * 1e3,
        samples.p90 * 1e3,
        samples.p50 / total,
        per_second["flops"],
        per_second["nbytes"],
    )
