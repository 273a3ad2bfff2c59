"""Scales as TOSA's RESCALE has them: an integer and a shift."""

import math


def multiplier_and_shift(ratio: float, bits: int = 32) -> tuple[int, int]:
    """The multiplier and the right shift nearest to a ratio.

    >>> multiplier_and_shift(0.75)
    (1610612736, 31)

    Args:
        ratio: positive.
        bits: of the multiplier, its sign included: 32, or 16 for sums of 48 bits.
    """
    mantissa, exponent = math.frexp(ratio)
    multiplier = round(mantissa * 2 ** (bits - 1))
    if multiplier == 2 ** (bits - 1):
        multiplier, exponent = multiplier // 2, exponent + 1
    shift = bits - 1 - exponent
    if shift > LARGEST_SHIFT:
        multiplier >>= min(bits - 1, shift - LARGEST_SHIFT)
        shift = LARGEST_SHIFT
    return multiplier, shift


SMALLEST_SHIFT, LARGEST_SHIFT = 2, 62


def can_rescale(ratio: float, bound: int) -> bool:
    """Whether RESCALE is defined for a ratio and integers of up to `bound`, before its clamping.

    >>> can_rescale(0.01, 10_000_000), can_rescale(4000.0, 10_000_000)
    (True, False)
    """
    if not (math.isfinite(ratio) and ratio > 0):
        return False
    _, shift = multiplier_and_shift(ratio)
    return shift >= SMALLEST_SHIFT and bound < 2 ** (shift - 1)
