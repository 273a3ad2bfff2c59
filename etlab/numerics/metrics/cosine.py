"""Cosine of the angle between the two outputs, seen as vectors."""

import math

from etlab.numerics.metrics.base import Metric, Tensors, finite_pair


def cosine(actual: Tensors, reference: Tensors) -> float:
    """Cosine similarity in [-1, 1] over all samples together.

    1 when both are zero everywhere (or empty), 0 when only one is; NaN when a NaN or infinity
    stands on one side only.
    """
    pair = finite_pair(actual, reference)
    if pair.broken:
        return math.nan
    peaks = [float(x.abs().max()) if x.numel() else 0.0 for x in (pair.actual, pair.reference)]
    if min(peaks) == 0.0:
        return 1.0 if max(peaks) == 0.0 else 0.0
    left, right = pair.actual / peaks[0], pair.reference / peaks[1]
    value = float(left @ right) / math.sqrt(float(left @ left) * float(right @ right))
    return max(-1.0, min(1.0, value))


METRIC = Metric("cosine", "cosine", cosine, True, "{:.6f}", rank=30, is_standard=True)
