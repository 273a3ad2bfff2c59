"""Scaling, limits, tables, sums and products of single elements."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from etlab.backends.arm.format.operators import DType
from etlab.backends.arm.format.schema import TensorEntry

Rule = Callable[[Any, Sequence[Any], TensorEntry], torch.Tensor]

LIMITS = {
    DType.INT8: (-128, 127, torch.int8),
    DType.INT16: (-(2**15), 2**15 - 1, torch.int16),
    DType.INT32: (-(2**31), 2**31 - 1, torch.int32),
    DType.INT48: (-(2**47), 2**47 - 1, torch.int64),
}


def _wide(inputs: Sequence[Any]) -> list[torch.Tensor]:
    return [one.long() for one in inputs]


def _rescale(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    """One product and one rounding half up, in 64 bits."""
    x, multiplier, shift, zero, result_zero = _wide(inputs)
    half = torch.ones_like(shift) << (shift - 1)
    scaled = ((x - zero) * multiplier + half) >> shift
    low, high, dtype = LIMITS[entry.type]
    return (scaled + result_zero).clamp(low, high).to(dtype)


def _clamp(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    limits = (
        int.from_bytes(one, "little", signed=True)
        for one in (attributes.min_val, attributes.max_val)
    )
    x: torch.Tensor = inputs[0]
    return x.clamp(*limits)


def _table(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    """256 results of int8; 513 points of int16 with straight lines between them."""
    x: torch.Tensor = inputs[0]
    table: torch.Tensor = inputs[1]
    if x.dtype is torch.int8:
        return table[x.long() + 128]
    places = x.long() + 2**15
    index, fraction = places >> 7, places & 127
    base, following = table.long()[index], table.long()[index + 1]
    return ((base << 7) + (following - base) * fraction).to(torch.int32)


def _two(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Rule:
    def rule(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
        return function(inputs[0].long(), inputs[1].long()).to(LIMITS[entry.type][2])

    return rule


def _product(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    """Exact; shifted where the operands have 32 bits, rounded half up."""
    a, b, shift = _wide(inputs)
    amount = int(shift)
    product = a * b
    if amount:
        product = (product + (1 << (amount - 1))) >> amount
    return product.to(LIMITS[entry.type][2])


def _sum(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    total: torch.Tensor = inputs[0].long().sum(attributes.axis, keepdim=True)
    return total.to(torch.int32)


def _largest(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    found: torch.Tensor = inputs[0].amax(attributes.axis, keepdim=True)
    return found


def _leading_zeros(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    x = inputs[0].long() & 0xFFFFFFFF
    count = torch.full_like(x, 32)
    for bit in range(32):
        count -= ((x >> bit) > 0).long()
    return count.to(torch.int32)


def _shift_left(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    """Bits that leave the 32 are lost."""
    shifted = (inputs[0].long() << inputs[1].long()) & 0xFFFFFFFF
    return torch.where(shifted >= 2**31, shifted - 2**32, shifted).to(torch.int32)


def _shift_right(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    """Keeps the sign; rounds half up where it is told to."""
    x, places = _wide(inputs)
    shifted = x >> places
    if attributes.round:
        shifted = shifted + torch.where(places > 0, (x >> (places - 1).clamp(min=0)) & 1, 0)
    return shifted.to(LIMITS[entry.type][2])


RULES: dict[str, Rule] = {
    "RESCALE": _rescale,
    "CLAMP": _clamp,
    "TABLE": _table,
    "ADD": _two(torch.add),
    "SUB": _two(torch.sub),
    "MUL": _product,
    "MAXIMUM": _two(torch.maximum),
    "MINIMUM": _two(torch.minimum),
    "REDUCE_SUM": _sum,
    "CLZ": _leading_zeros,
    "LOGICAL_LEFT_SHIFT": _shift_left,
    "ARITHMETIC_RIGHT_SHIFT": _shift_right,
    "REDUCE_MAX": _largest,
}
