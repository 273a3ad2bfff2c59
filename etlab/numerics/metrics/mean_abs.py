"""Mean absolute difference."""

import math

from etlab.numerics.metrics.base import Metric, Tensors, finite_pair


def mean_abs(actual: Tensors, reference: Tensors) -> float:
    """The mean |reference - actual|; infinite when a NaN or infinity stands on one side only."""
    pair = finite_pair(actual, reference)
    if pair.broken:
        return math.inf
    return float((pair.reference - pair.actual).abs().mean()) if pair.actual.numel() else 0.0


METRIC = Metric("mean_abs", "mean |Δ|", mean_abs, False, "{:.2e}", rank=22)
