"""What a metric is, and how values that are no ordinary numbers are paired."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

Tensors = Sequence[torch.Tensor]


@dataclass(frozen=True, slots=True)
class Metric:
    """One number for how close an output is to its reference.

    Attributes:
        name: the keyword and column name.
        label: the heading in tables.
        compute: takes the actual and the reference tensors of one output, one tensor a sample,
            shapes equal pairwise; None when the metric says nothing about such data.
        higher_is_better: which side of a bound is good.
        template: how a value is written, for `str.format`.
        rank: place in a table.
        is_standard: whether tables show it without being asked.
        combine: from the values of several samples to one.
    """

    name: str
    label: str
    compute: Callable[[Tensors, Tensors], float | None]
    higher_is_better: bool
    template: str = "{:.3g}"
    rank: int = 50
    is_standard: bool = False
    combine: Callable[[Sequence[float]], float] = statistics.fmean

    def worst(self, values: Sequence[float | None]) -> int | None:
        """The place of the worst value, NaN before all; None when there is no value."""
        sign = 1.0 if self.higher_is_better else -1.0
        places = [place for place, value in enumerate(values) if value is not None]
        if not places:
            return None

        def badness(place: int) -> tuple[bool, float]:
            value = values[place]
            assert value is not None
            return value == value, sign * value

        return min(places, key=badness)

    def together(self, values: Sequence[float | None]) -> float | None:
        """One value of those of several samples; None when no sample has one."""
        known = [value for value in values if value is not None]
        return self.combine(known) if known else None

    def format(self, value: float | None) -> str:
        """`value` as tables and messages show it."""
        if value is None:
            return "n/a"
        if value == float("inf"):
            return "exact" if self.higher_is_better else "inf"
        return self.template.format(value)


@dataclass(frozen=True, slots=True)
class FinitePair:
    """The comparable part of two lists of tensors.

    Attributes:
        actual: (n,) float64, finite, without the places where both sides hold the same non-finite
            value.
        reference: (n,) float64, finite, the same places.
        broken: number of places where one side is NaN or infinite and the other is not the same.
    """

    actual: torch.Tensor
    reference: torch.Tensor
    broken: int


def _flat(tensors: Tensors) -> torch.Tensor:
    parts = []
    for tensor in tensors:
        tensor = tensor.detach()
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor.resolve_conj())
        parts.append(tensor.reshape(-1).to(torch.float64))
    if len(parts) == 1:
        return parts[0]
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)


def finite_pair(actual: Tensors, reference: Tensors) -> FinitePair:
    """Split off what is not finite: equal NaN and infinities agree, unequal ones are broken."""
    left, right = _flat(actual), _flat(reference)
    if math.isfinite(float(left.sum()) + float(right.sum())):  # then every entry is
        return FinitePair(left, right, 0)
    finite = torch.isfinite(left) & torch.isfinite(right)
    same = (left == right) | (torch.isnan(left) & torch.isnan(right))
    broken = int((~finite & ~same).sum())
    return FinitePair(left[finite], right[finite], broken)
