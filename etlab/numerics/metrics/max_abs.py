"""Largest absolute difference."""

import math

from etlab.numerics.metrics.base import Metric, Tensors, finite_pair


def max_abs(actual: Tensors, reference: Tensors) -> float:
    """The largest |reference - actual|; infinite when a NaN or infinity stands on one side only."""
    pair = finite_pair(actual, reference)
    if pair.broken:
        return math.inf
    return float((pair.reference - pair.actual).abs().max()) if pair.actual.numel() else 0.0


METRIC = Metric(
    "max_abs", "max |Δ|", max_abs, False, "{:.2e}", rank=20, is_standard=True, combine=max
)
