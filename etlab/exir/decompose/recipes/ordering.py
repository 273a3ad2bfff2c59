"""Sorting with what every runtime has: `topk` of all elements."""

import math
from typing import Any

import torch
from torch import Tensor

from etlab.exir.decompose.recipes import recipe

aten = torch.ops.aten

# What a runtime's `topk` may not order, and what it is ordered as.
_ORDERED_AS = {
    torch.bool: torch.uint8,
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
}


@recipe(aten.sort.default, aten.sort.stable)
def sort(x: Any, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Stable sort.

    `topk` of all elements orders them, but equal ones as it likes. So the runs of equal elements
    are numbered, and the places in the input are ordered by (run, place), which has no equals.
    """
    options = dict(kwargs)
    rest = list(args)
    if rest and isinstance(rest[0], bool) and "stable" not in options:
        rest.pop(0)
    dim = rest.pop(0) if rest else options.get("dim", -1)
    descending = rest.pop(0) if rest else options.get("descending", False)
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.long)
    size = x.shape[dim]
    if isinstance(size, int) and size <= 1:
        return x.clone(), torch.zeros_like(x, dtype=torch.long)
    moved = x.movedim(dim, -1)
    ordered = moved.to(_ORDERED_AS.get(x.dtype, x.dtype))
    # Not `torch.topk`, which would fix a dynamic size.
    values, places = aten.topk.default(ordered, size, -1, descending)
    before, after = values[..., :-1], values[..., 1:]
    differs = before != after
    if ordered.is_floating_point():
        differs = differs & ~(torch.isnan(before) & torch.isnan(after))
    first = torch.zeros_like(places[..., :1])
    run = torch.cat([first, differs.to(torch.long)], -1).cumsum(-1) * size
    order = aten.topk.default(run + places, size, -1, False)[0] - run
    return values.to(x.dtype).movedim(-1, dim), order.movedim(-1, dim)


@recipe(aten.median.dim)
def median(x: Any, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    values, order = torch.sort(x, dim=dim)
    if x.dim() == 0:
        return values, order
    place = (x.shape[dim] - 1) // 2
    value, index = values.select(dim, place), order.select(dim, place)
    if x.is_floating_point():
        is_nan = torch.isnan(x)
        has_nan = is_nan.any(dim)
        value = torch.where(has_nan, math.nan, value)
        index = torch.where(has_nan, is_nan.to(torch.uint8).argmax(dim), index)
    return (value.unsqueeze(dim), index.unsqueeze(dim)) if keepdim else (value, index)


@recipe(aten.median.default)
def median_of_all(x: Tensor) -> Tensor:
    value: Tensor = median(x.flatten(), 0)[0]
    return value


def _picked(x: Any, indices: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The elements at `indices`, which keep the reduced dimension."""
    values = torch.gather(x, dim, indices)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


@recipe(aten.kthvalue.default)
def kthvalue(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.long)
    order: Tensor = sort(x, dim)[1]
    return _picked(x, order.narrow(dim, k - 1, 1), dim, keepdim)


@recipe(aten.nanmedian.dim)
def nanmedian(x: Any, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """NaN stands behind all numbers, so the numbers' middle is at half their count."""
    if x.dim() == 0 or not x.is_floating_point():
        return median(x, dim, keepdim)  # type: ignore[no-any-return]
    order: Tensor = sort(x, dim)[1]
    count = torch.logical_not(torch.isnan(x)).sum(dim, keepdim=True)
    place = torch.div((count - 1).clamp(min=0), 2, rounding_mode="floor")
    return _picked(x, order.gather(dim, place), dim, keepdim)


@recipe(aten.nanmedian.default)
def nanmedian_of_all(x: Tensor) -> Tensor:
    value: Tensor = nanmedian(x.flatten(), 0)[0]
    return value


@recipe(aten.mode.default)
def mode(x: Any, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The longest run of equals in the sorted elements, the first of several; its last element."""
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.long)
    values, order = sort(x, dim)
    size = x.shape[dim]
    shape = [1] * x.dim()
    shape[dim] = size
    places = torch.arange(size).reshape(shape).expand(x.shape)
    is_first = values != torch.roll(values, 1, dim)
    start = torch.cummax(torch.where(is_first, places, 0), dim)[0]
    longest = torch.argmax(places - start, dim, keepdim=True)
    return _picked(x, order.gather(dim, longest), dim, keepdim)
