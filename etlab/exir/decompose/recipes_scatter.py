"""Scattered reductions with what every runtime has: `scatter_add`, and comparisons of positions."""

from typing import Any

import torch
from torch import Tensor

from etlab.exir.decompose.recipes import recipe

aten = torch.ops.aten


def _neutral(dtype: torch.dtype, reduce: str) -> Any:
    """What changes no result of `reduce`."""
    if reduce == "prod":
        return 1
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
    """Products and extremes: every place looks at all values along `dim` that are meant for it.

    That takes memory for size times size values along `dim`.
    """
    places = [1] * (x.dim() + 1)
    places[dim] = x.shape[dim]
    positions = torch.arange(x.shape[dim]).reshape(places)
    is_meant = index.unsqueeze(dim) == positions  # (..., places, values, ...)
    neutral = _neutral(x.dtype, reduce)
    values = torch.where(is_meant, source.unsqueeze(dim), neutral).to(x.dtype)
    if reduce == "prod":
        found = values.prod(dim + 1).to(x.dtype)
    else:
        found = values.amax(dim + 1) if reduce == "amax" else values.amin(dim + 1)
    # An index that is shorter than `x` along other dimensions leaves the rest alone.
    missing: list[int] = []
    for size, given in zip(reversed(x.shape), reversed(found.shape), strict=True):
        missing += [0, size - given]
    is_touched = torch.constant_pad_nd(is_meant.any(dim + 1), missing, 0)
    found = torch.constant_pad_nd(found, missing, neutral)
    if not include_self:
        return torch.where(is_touched, found, x)
    if reduce == "prod":
        return x * found
    return torch.maximum(x, found) if reduce == "amax" else torch.minimum(x, found)


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
