"""Share of elements that were clipped: they lie at the end of the range, the reference beyond."""

import torch

from etlab.numerics.metrics.base import Metric, Tensors

_LEVELS = 256  # more different values than that are no quantized tensor


def saturation(actual: Tensors, reference: Tensors) -> float | None:
    """The share of elements at the smallest or largest value whose reference is out of range.

    Out of range is what lies beyond by more than half of the smallest step between values. None
    where the actual values are more than 256 different ones: no quantized range clips them.

    >>> saturation([torch.tensor([0.0, 1.0, 2.0, 2.0])], [torch.tensor([0.1, 1.0, 2.1, 7.0])])
    0.25
    """
    clipped, count = 0, 0
    for left, right in zip(actual, reference, strict=True):
        if left.is_complex() or left.dtype == torch.bool or not left.numel():
            return None
        low_high_step = _levels(left.detach().double())
        if low_high_step is None:
            return None
        low, high, step = low_high_step
        truth = right.detach().double()
        values = left.detach().double()
        clipped += int(((values == high) & (truth > high + step / 2)).sum())
        clipped += int(((values == low) & (truth < low - step / 2)).sum())
        count += values.numel()
    return clipped / count if count else None


def _levels(values: torch.Tensor) -> tuple[float, float, float] | None:
    """Smallest value, largest value and smallest step; None for values that are no levels."""
    distinct = torch.unique(values)
    if not 2 <= len(distinct) <= _LEVELS or not bool(torch.isfinite(distinct).all()):
        return None
    return float(distinct[0]), float(distinct[-1]), float(distinct.diff().min())


METRIC = Metric("saturation", "clipped", saturation, False, "{:.2%}", rank=60)
