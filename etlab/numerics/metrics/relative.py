"""Length of the difference, as a share of the reference's length."""

import math

from etlab.numerics.metrics.base import Metric, Tensors, finite_pair


def relative(actual: Tensors, reference: Tensors) -> float:
    """`‖reference - actual‖ / ‖reference‖` over all samples together.

    Infinite when a reference that is all zero is missed, or when a NaN or infinity stands on one
    side only. Element by element it would say nothing, for references pass through zero.

    >>> import torch
    >>> round(relative([torch.tensor([3.0, 3.6])], [torch.tensor([3.0, 4.0])]), 3)
    0.08
    """
    pair = finite_pair(actual, reference)
    if pair.broken:
        return math.inf
    noise = pair.reference - pair.actual
    peak = float(noise.abs().max()) if noise.numel() else 0.0
    if peak == 0.0:
        return 0.0
    scale = float(pair.reference.abs().max())
    if scale == 0.0:
        return math.inf
    ratio = float((noise / peak).norm()) / float((pair.reference / scale).norm())
    return ratio * (peak / scale)


METRIC = Metric("relative", "relative Δ", relative, False, "{:.2e}", rank=24)
