"""Share of elements that are the same bits."""

import torch

from etlab.numerics.metrics.base import Metric, Tensors


def bit_equal(actual: Tensors, reference: Tensors) -> float | None:
    """The share of equal elements; NaN equals NaN, and 0.0 equals -0.0. None without elements."""
    equal, count = 0, 0
    for left, right in zip(actual, reference, strict=True):
        same = left == right
        if left.is_floating_point() or left.is_complex():
            same |= torch.isnan(left) & torch.isnan(right)
        equal += int(same.sum())
        count += same.numel()
    return equal / count if count else None


METRIC = Metric("bit_equal", "bit-equal", bit_equal, True, "{:.2%}", rank=26)
