"""Largest difference, counted in the numbers that the dtype has between two values."""

import math

import torch

from etlab.numerics.metrics.base import Metric, Tensors

# A floating-point dtype to the integers of its size.
_BITS = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
}


def ulp(actual: Tensors, reference: Tensors) -> float | None:
    """The largest distance in units in the last place of the reference's dtype.

    Integers count by one. Infinite when a NaN stands on one side only; None for booleans, complex
    and 8-bit floats.

    >>> ulp([torch.tensor([1.0])], [torch.tensor([1.0 + 2**-22])])
    2.0
    """
    largest = 0.0
    for left, right in zip(actual, reference, strict=True):
        if right.dtype == torch.bool or not right.numel():
            continue
        if not right.is_floating_point() and not right.is_complex():
            largest = max(largest, float((left.double() - right.double()).abs().max()))
            continue
        if right.dtype not in _BITS:
            return None
        nan = torch.isnan(left), torch.isnan(right)
        if bool((nan[0] != nan[1]).any()):
            return math.inf
        distance = _distance(_place(left.to(right.dtype)), _place(right))[~nan[1]]
        largest = max(largest, float(distance.max()) if distance.numel() else 0.0)
    return largest


def _place(tensor: torch.Tensor) -> torch.Tensor:
    """The place of every value among the numbers of its dtype, as int64; both zeros are 0."""
    bits = tensor.detach().contiguous().view(_BITS[tensor.dtype])
    magnitude = (bits & torch.iinfo(bits.dtype).max).long()
    return torch.where(bits < 0, -magnitude, magnitude)


def _distance(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """`|first - second|` as float64, exact where it is small; places of two signs may overflow."""
    apart = first.double().abs() + second.double().abs()
    return torch.where((first < 0) == (second < 0), (first - second).abs().double(), apart)


METRIC = Metric("ulp", "max ULP", ulp, False, "{:.0f}", rank=28, combine=max)
