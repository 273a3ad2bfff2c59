"""Signal to quantization noise ratio: 10 log10(sum reference² / sum (reference - actual)²)."""

import math
from collections.abc import Sequence

from etlab.numerics.metrics.base import Metric, Tensors, finite_pair


def sqnr_db(actual: Tensors, reference: Tensors) -> float:
    """SQNR in decibels over all samples together.

    Infinite when nothing differs. Minus infinity when a NaN or infinity stands on one side only, or
    when a reference that is all zero is missed: no number of decibels would say it better.

    >>> import torch
    >>> round(sqnr_db([torch.tensor([1.1, -1.0])], [torch.tensor([1.0, -1.0])]), 1)
    23.0
    """
    pair = finite_pair(actual, reference)
    if pair.broken:
        return -math.inf
    scale = float(pair.reference.abs().max()) if pair.reference.numel() else 0.0
    noise_peak = float((pair.reference - pair.actual).abs().max()) if pair.actual.numel() else 0.0
    if noise_peak == 0.0:
        return math.inf
    if scale == 0.0:
        return -math.inf
    # Both sums are scaled to their own peak: squares of tiny and huge values stay representable.
    signal = float((pair.reference / scale).square().sum())
    noise = float(((pair.reference - pair.actual) / noise_peak).square().sum())
    return 10 * math.log10(signal / noise) + 20 * (math.log10(scale) - math.log10(noise_peak))


def _together(values: Sequence[float]) -> float:
    """Of the mean share of noise: one bad sample is not hidden by exact ones."""
    if any(value != value or value == -math.inf for value in values):
        return -math.inf
    share = sum(10 ** (-value / 10) for value in values) / len(values)
    return math.inf if share == 0.0 else -10 * math.log10(share)


METRIC = Metric(
    "sqnr_db",
    "SQNR (dB)",
    sqnr_db,
    True,
    "{:.1f}",
    rank=10,
    is_standard=True,
    combine=_together,
)
