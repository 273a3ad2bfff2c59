"""Scattered reductions with what every runtime has: `scatter_add`, and sorting by positions."""

from typing import Any

import torch
from torch import Tensor

from etlab.exir.decompose.recipes import recipe
from etlab.exir.decompose.recipes.running import spans

aten = torch.ops.aten

_REDUCTIONS = {"add": "sum", "multiply": "prod"}
_COMBINATIONS: dict[str, Any] = {"prod": torch.mul, "amax": torch.maximum, "amin": torch.minimum}


def _neutral(dtype: torch.dtype, reduce: str) -> Any:
    """What changes no result of `reduce`."""
    if reduce == "prod":
        return 1
    if dtype is torch.bool:
        return reduce == "amin"
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    if dtype.is_floating_point:
        return float("-inf") if reduce == "amax" else float("inf")
    return limits.min if reduce == "amax" else limits.max


def _counted(x: Tensor, dim: int, index: Tensor, source: Tensor, *, include_self: bool) -> Any:
    """How many values meet in each place, in the dtype of `x`."""
    start = torch.ones_like(x) if include_self else torch.zeros_like(x)
    return start.scatter_add(dim, index, torch.ones_like(source))


def _added(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool
) -> Tensor:
    """Sums and means."""
    start = x
    if not include_self:
        start = torch.where(_counted(x, dim, index, source, include_self=False) > 0, 0, x).to(
            x.dtype
        )
    total: Tensor = start.scatter_add(dim, index, source)
    if reduce == "sum":
        return total
    count = _counted(x, dim, index, source, include_self=include_self).clamp(min=1)
    mode = None if x.is_floating_point() else "floor"
    mean: Tensor = torch.div(total, count, rounding_mode=mode)
    return mean


def _chosen(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool
) -> Tensor:
    """Products and extremes: values are ordered by their place, and runs of equal places combined.

    Spans of 1, 2, 4, ... values are combined where they are meant for one place; the last value of
    a run then stands for all of it. The others go to a slot behind `x`, which is cut off.
    """
    size = x.shape[dim]
    places, order = torch.sort(index, stable=True, dim=dim)
    values = source.gather(dim, order).to(x.dtype)
    combine = _COMBINATIONS[reduce]
    for back, has_one in spans(places, dim, "aten.scatter_reduce"):
        is_same = has_one & (places.index_select(dim, back) == places)
        values = torch.where(is_same, combine(values, values.index_select(dim, back)), values)
    count = index.shape[dim]
    after = torch.arange(1, count + 1).clamp(max=count - 1)
    is_last = places != places.index_select(dim, after)
    shape = [1] * x.dim()
    shape[dim] = count
    is_last = is_last | (torch.arange(count) == count - 1).reshape(shape)
    slots = torch.where(is_last, places, size)
    missing = [0, 0] * (x.dim() - 1 - dim) + [0, 1]

    def placed(start: Tensor, given: Tensor) -> Tensor:
        padded = torch.constant_pad_nd(start, missing, 0)
        return padded.scatter(dim, slots, given).narrow(dim, 0, size)

    found = placed(torch.full_like(x, _neutral(x.dtype, reduce)), values)
    is_touched = placed(torch.zeros_like(x, dtype=torch.bool), torch.ones_like(is_last))
    if not include_self:
        return torch.where(is_touched, found, x)
    combined: Tensor = combine(x, found)
    return combined


@recipe(aten.scatter_reduce.two)
def scatter_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    if x.dim() == 0:
        lifted: Tensor = scatter_reduce(
            x.reshape(1),
            0,
            index.reshape(-1),
            source.reshape(-1),
            reduce,
            include_self=include_self,
        )
        return lifted.reshape([])
    dim = dim % x.dim()
    if isinstance(index.shape[dim], int) and index.shape[dim] == 0:
        return x.clone()
    source = source[tuple(slice(size) for size in index.shape)]
    step = _added if reduce in ("sum", "mean") else _chosen
    result: Tensor = step(x, dim, index, source, reduce, include_self=include_self)
    return result


@recipe(aten.index_reduce.default)
def index_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    dim = dim % x.dim()
    shape = [1] * x.dim()
    shape[dim] = index.shape[0]
    spread = index.reshape(shape).expand(source.shape).to(torch.int64)
    result: Tensor = scatter_reduce(x, dim, spread, source, reduce, include_self=include_self)
    return result


@recipe(aten.scatter.reduce)
def scatter_reducing(x: Tensor, dim: int, index: Tensor, source: Tensor, *, reduce: str) -> Tensor:
    result: Tensor = scatter_reduce(x, dim, index, source, _REDUCTIONS[reduce])
    return result


@recipe(aten.scatter.value_reduce)
def scatter_value_reducing(
    x: Tensor, dim: int, index: Tensor, value: Any, *, reduce: str
) -> Tensor:
    source = torch.full(index.shape, value, dtype=x.dtype)
    result: Tensor = scatter_reduce(x, dim, index, source, _REDUCTIONS[reduce])
    return result


@recipe(aten.put.default)
def put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    flat = x.reshape(-1)
    places = index.reshape(-1)
    places = torch.where(places < 0, places + flat.shape[0], places)
    values = source.reshape(-1)
    if accumulate:
        return flat.scatter_add(0, places, values).reshape(x.shape)
    return flat.scatter(0, places, values).reshape(x.shape)


@recipe(aten.nonzero_static.default)
def nonzero_static(x: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Each found element goes to the slot of its number; what has none to a slot behind all."""
    shape = x.shape
    is_found = (x.reshape(-1) != 0) if x.dtype != torch.bool else x.reshape(-1)
    number = torch.cumsum(is_found.to(torch.int64), 0) - 1
    slots = torch.where(is_found, number, size).clamp(max=size)
    rest = torch.arange(is_found.shape[0])
    columns: list[Tensor] = []
    for length in reversed(shape):
        whole = torch.div(rest, length, rounding_mode="floor")
        filled = torch.full((size + 1,), fill_value, dtype=torch.int64)
        columns.insert(0, filled.scatter(0, slots, rest - whole * length)[:size])
        rest = whole
    return torch.stack(columns, 1) if columns else torch.zeros((size, 0), dtype=torch.int64)


@recipe(aten.histc.default)
def histc(x: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    if not x.is_floating_point():
        return NotImplemented  # type: ignore[no-any-return]  # means: refused
    flat = x.reshape(-1)
    if min == max:  # the range of the values, widened where they are all equal
        low, high = (flat.min(), flat.max()) if flat.shape[0] > 0 else (flat.sum(), flat.sum())
        if min != 0 and flat.shape[0] == 0:
            low, high = low + min, high + min
        is_point = low == high
        low, high = torch.where(is_point, low - 1, low), torch.where(is_point, high + 1, high)
    else:
        low, high = torch.full((), min, dtype=x.dtype), torch.full((), max, dtype=x.dtype)
    is_inside = (flat >= low) & (flat <= high)
    inside = torch.where(is_inside, flat, low)
    places = ((inside - low) * bins / (high - low)).to(torch.int64).clamp(max=bins - 1)
    return torch.zeros(bins, dtype=x.dtype).scatter_add(0, places, is_inside.to(x.dtype))
