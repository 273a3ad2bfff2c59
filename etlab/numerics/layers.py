"""Rows of a layer-by-layer comparison: what was compared, how far apart it is, and why not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from etlab.numerics.metrics import metric

# Local errors up to these are rounding; above, an operator computes something else.
LARGEST_SHARE_OFF_BY_ONE = 0.02
LARGEST_RELATIVE = {
    **{"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 5e-2},
    **{"complex128": 1e-9, "complex64": 1e-4, "complex32": 2e-2},
}
LARGEST_OF_ROWS = 0.1  # the device has a scale for each row, PT2E's simulation one for all
LARGEST_OF_QUANTIZATION = 0.5  # 6 dB: half of the signal is gone
LARGEST_GROWTH = 4.0  # of what arrives at an operator that could not be run alone

Comparison = Literal["integers", "floats", "rows", "quantization"]


@dataclass(frozen=True, slots=True)
class StepCounts:
    """How far integers are apart.

    Attributes:
        equal: elements that are the same.
        one: elements that are one step off.
        more: elements that are more than one step off.
        largest: the largest distance in steps.
    """

    equal: int = 0
    one: int = 0
    more: int = 0
    largest: int = 0

    @property
    def total(self) -> int:
        """All elements."""
        return self.equal + self.one + self.more

    @property
    def share_equal(self) -> float:
        """The share of elements that are the same; 1 of none."""
        return self.equal / self.total if self.total else 1.0

    def __add__(self, other: "StepCounts") -> "StepCounts":
        """Both together."""
        return StepCounts(
            self.equal + other.equal,
            self.one + other.one,
            self.more + other.more,
            max(self.largest, other.largest),
        )

    def __str__(self) -> str:
        """For example `99.91 % equal, 0.09 % off by one`."""
        if not self.total:
            return "no elements"
        parts = [f"{self.share_equal:.2%} equal"]
        if self.one:
            parts.append(f"{self.one / self.total:.2%} off by one")
        if self.more:
            parts.append(f"{self.more / self.total:.2%} by up to {self.largest}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close one operator's result is to the reference's.

    Attributes:
        values: metric name to value over all samples; None where a metric says nothing.
        worst_sample: place of the sample with the worst first metric; None for one sample.
        steps: the distance in steps where both sides are integers of one scale.
        relative: length of the difference as a share of the reference's length.
        peak: the largest difference as a share of the reference's largest value.
    """

    values: Mapping[str, float | None] = field(default_factory=dict)
    worst_sample: int | None = None
    steps: StepCounts | None = None
    relative: float = 0.0
    peak: float = 0.0


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One operator on one path.

    Attributes:
        path: how it was computed.
        operator: its node in the exported program.
        kind: the operator, such as `conv2d`.
        module: the module it belongs to.
        source: `file.py:12`.
        line: the text of that line.
        part: the delegate that computes it; empty for others.
        computed_by: what computes it there: an operator, or the kind of a delegate's node.
        together: operators that the same step computes, in order; this one is the last.
        compared_as: "integers" of one scale, "floats" of one precision, "rows": floats behind rows
            that are quantized at run time, or "quantization": what was quantized with floats.
        dtype: of the reference's values.
        accumulated: on the path's own values; None where it was not compared.
        local: on the reference's inputs; None where it was not compared.
        reason: why `accumulated` is None.
        local_reason: why `local` is None.
        arriving: the largest relative difference of the operators before it.
        known_reason: in what the backend's arithmetic differs from PT2E's simulation there, where
            it does and integers are not all equal.
    """

    path: str
    operator: str
    kind: str
    module: str
    source: str
    line: str
    part: str = ""
    computed_by: str = ""
    together: tuple[str, ...] = ()
    compared_as: Comparison = "floats"
    dtype: str = ""
    accumulated: Closeness | None = None
    local: Closeness | None = None
    reason: str = ""
    local_reason: str = ""
    arriving: float = 0.0
    known_reason: str = ""

    @property
    def diverges(self) -> bool:
        """Whether it computes something else than the reference, from the same inputs.

        What was not run alone is judged by how much the difference grows there, the coarser test.
        """
        if self.local is not None:
            return self._is_apart(self.local)
        if self.accumulated is None or self.compared_as == "quantization":
            return False
        grown = not self.accumulated.relative <= LARGEST_GROWTH * self.arriving
        return grown and self._is_apart(self.accumulated)

    def _is_apart(self, found: Closeness) -> bool:
        """Whether a difference is more than rounding; NaN is."""
        if found.steps is not None:
            share = LARGEST_SHARE_OFF_BY_ONE * found.steps.total
            return bool(found.steps.more) or found.steps.one > max(2.0, share)
        if self.compared_as == "quantization":
            return not found.relative <= LARGEST_OF_QUANTIZATION
        if self.compared_as == "rows":
            return not found.relative <= LARGEST_OF_ROWS
        limit = LARGEST_RELATIVE.get(self.dtype, 0.0)
        return not (found.relative <= limit and found.peak <= 10 * limit)

    @property
    def names(self) -> str:
        """The operators of the step: `conv2d + batch_norm + hardtanh`."""
        return " + ".join([*self.together, self.operator])


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many operators of a path were compared, and why the others were not.

    Attributes:
        path: the path.
        compared: how many were.
        local: how many were run alone, too.
        total: how many the exported program has.
        reasons: why others were not, with how many, the commonest first.
        samples: how many samples were compared.
        note: what else is to be known.
    """

    path: str
    compared: int
    local: int
    total: int
    reasons: Mapping[str, int]
    samples: int
    note: str = ""

    def __str__(self) -> str:
        """One sentence."""
        on = f" on {self.samples} sample" + ("" if self.samples == 1 else "s")
        text = f"{self.path}: {self.compared} of {self.total} operators compared{on}"
        if self.local:
            text += f", {self.local} of them alone on the reference's inputs"
        if self.reasons:
            each = "; ".join(f"{count} {reason}" for reason, count in self.reasons.items())
            text += f"; not compared: {each}"
        return text + (f" ({self.note})" if self.note else "")


def coverage_of(path: str, rows: Sequence[LayerRow], samples: int, note: str = "") -> Coverage:
    """Count the rows of a path."""
    reasons: dict[str, int] = {}
    for row in rows:
        if row.accumulated is None:
            kind = row.reason.split(" '")[0]
            reasons[kind] = reasons.get(kind, 0) + 1
    ordered = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    compared = sum(row.accumulated is not None for row in rows)
    local = sum(row.local is not None for row in rows)
    return Coverage(path, compared, local, len(rows), ordered, samples, note)


def combine(found: Sequence[Closeness], names: Sequence[str]) -> Closeness | None:
    """The samples' values together; None of none."""
    if not found:
        return None
    values = {
        name: metric(name).together([one.values.get(name) for one in found]) for name in names
    }
    worst = None
    if len(found) > 1 and names:
        worst = metric(names[0]).worst([one.values.get(names[0]) for one in found])
    steps = [one.steps for one in found if one.steps is not None]
    return Closeness(
        values,
        worst,
        sum(steps, StepCounts()) if steps else None,
        _largest([one.relative for one in found]),
        _largest([one.peak for one in found]),
    )


def _largest(values: Sequence[float]) -> float:
    """The largest, NaN before all."""
    return next((value for value in values if value != value), max(values))
