"""Signs, exponents and neighbours of numbers, by arithmetic alone.

The sign of a NaN can't be seen that way: it counts as positive.
"""

import math

import torch
from torch import Tensor

from etlab.exir.decompose.recipes import recipe

aten = torch.ops.aten

# Fraction bits and the smallest positive number of the dtypes that float64 holds with room.
_FRACTIONS = {
    torch.float16: (10, 2.0**-24),
    torch.bfloat16: (7, 2.0**-133),
    torch.float32: (23, 2.0**-149),
}


@recipe(aten.signbit.default)
def signbit(x: Tensor) -> Tensor:
    if not x.is_floating_point():
        return x < 0
    return (x < 0) | (torch.reciprocal(x) == -math.inf)


@recipe(aten.copysign.Tensor, aten.copysign.Scalar)
def copysign(x: Tensor, sign: Tensor | float) -> Tensor:
    dtype = torch.result_type(x, sign)
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    size = x.to(dtype).abs()
    if not isinstance(sign, Tensor):
        return -size if math.copysign(1.0, sign) < 0 else size
    is_negative: Tensor = signbit(sign)
    return torch.where(is_negative, -size, size)


@recipe(aten.fmax.default)
def fmax(x: Tensor, y: Tensor) -> Tensor:
    return _of_numbers(x, y, torch.maximum(x, y))


@recipe(aten.fmin.default)
def fmin(x: Tensor, y: Tensor) -> Tensor:
    return _of_numbers(x, y, torch.minimum(x, y))


def _of_numbers(x: Tensor, y: Tensor, chosen: Tensor) -> Tensor:
    """`chosen`, but the number where one of the two is NaN."""
    if not chosen.is_floating_point():
        return chosen
    x, y = x.to(chosen.dtype), y.to(chosen.dtype)
    return torch.where(torch.isnan(x), y, torch.where(torch.isnan(y), x, chosen))


@recipe(aten.nextafter.default)
def nextafter(x: Tensor, y: Tensor) -> Tensor:
    """A little more than half the distance to the neighbour is added, and rounding does the rest.

    float64 has nothing wider to do this in.
    """
    dtype = torch.result_type(x, y)
    if dtype not in _FRACTIONS:
        return NotImplemented  # type: ignore[no-any-return]  # means: refused
    bits, smallest = _FRACTIONS[dtype]
    start, goal = x.to(dtype).to(torch.float64), y.to(dtype).to(torch.float64)
    step = torch.clamp(start.abs() * (2.0 ** -(bits + 1) * (1 + 2.0**-20)), min=0.75 * smallest)
    direction = torch.sign(goal - start)
    largest = torch.finfo(dtype).max
    moved = torch.where(torch.isinf(start), -direction * largest, start + direction * step)
    result = torch.where(start == goal, goal, moved)
    return torch.where(torch.isnan(start) | torch.isnan(goal), math.nan, result).to(dtype)


@recipe(aten.ldexp.Tensor)
def ldexp(x: Tensor, exponent: Tensor) -> Tensor:
    return x * torch.pow(2.0, exponent)


@recipe(aten.frexp.Tensor)
def frexp(x: Tensor) -> tuple[Tensor, Tensor]:
    wide = x.to(torch.float64)
    size = wide.abs()
    is_number = (size > 0) & torch.isfinite(size)
    is_tiny = size < 2.0**-900
    size = torch.where(is_number, torch.where(is_tiny, size * 2.0**200, size), 1.0)
    exponent = (torch.floor(torch.log2(size)) + 1).clamp(max=1024)
    # The logarithm may round up to an integer, or down from one. No double is 2^1024 or more.
    fraction = size * 0.5 / torch.pow(2.0, exponent - 1)
    is_low, is_high = fraction < 0.5, fraction >= 1
    exponent = exponent - is_low.to(torch.float64) + is_high.to(torch.float64)
    fraction = torch.where(is_low, fraction * 2, torch.where(is_high, fraction * 0.5, fraction))
    fraction = torch.where(wide < 0, -fraction, fraction)
    exponent = torch.where(is_tiny, exponent - 200, exponent)
    mantissa = torch.where(is_number, fraction, wide).to(x.dtype)
    return mantissa, torch.where(is_number, exponent, 0.0).to(torch.int32)


@recipe(aten.lcm.default)
def lcm(x: Tensor, y: Tensor) -> Tensor:
    common = torch.gcd(x, y)
    return (torch.div(x, torch.where(common == 0, 1, common), rounding_mode="trunc") * y).abs()
