"""Running extremes and log-sums: spans of 1, 2, 4, ... elements are combined.

    after step k, element i stands for elements i - 2^k + 1 ... i

So a line of n elements takes log2(n) steps.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from etlab.errors import LoweringError
from etlab.exir.decompose.recipes import recipe

aten = torch.ops.aten


def _largest(size: Any, operator: str) -> int:
    """The number itself, or the bound of a dynamic size."""
    if isinstance(size, int):
        return size
    bound = size.node.shape_env.bound_sympy(size.node.expr).upper
    if not bound.is_finite or bound > 2**40:
        raise LoweringError(
            f"{operator} along a dynamic dimension without an upper bound; export with "
            'dynamic_shapes={… Dim("name", max=N)}'
        )
    return int(bound)


def spans(x: Tensor, dim: int, operator: str) -> Iterator[tuple[Tensor, Tensor]]:
    """(places to look back at, which elements have such a place) of every step."""
    size = x.shape[dim]
    shape = [1] * x.dim()
    shape[dim] = size
    places = torch.arange(size)
    span = 1
    while span < _largest(size, operator):
        yield (places - span).clamp(min=0), (places >= span).reshape(shape)
        span *= 2


def _running_extreme(
    x: Any, dim: int, operator: str, is_taken: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """Values and indices; of equal extremes the last one counts, and NaN beats everything.

    The first element may be combined again and again: that changes nothing.
    """
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.long)
    shape = [1] * x.dim()
    shape[dim] = x.shape[dim]
    values, indices = x, torch.arange(x.shape[dim]).reshape(shape).expand(x.shape)
    for places, _ in spans(x, dim, operator):
        before = values.index_select(dim, places)
        is_later = is_taken(values, before)
        if x.is_floating_point():
            is_later = torch.isnan(values) | (is_later & torch.logical_not(torch.isnan(before)))
        values = torch.where(is_later, values, before)
        indices = torch.where(is_later, indices, indices.index_select(dim, places))
    return values.clone(), indices.clone()


@recipe(aten.cummax.default)
def cummax(x: Any, dim: int) -> tuple[Tensor, Tensor]:
    return _running_extreme(x, dim, "aten.cummax", torch.ge)


@recipe(aten.cummin.default)
def cummin(x: Any, dim: int) -> tuple[Tensor, Tensor]:
    return _running_extreme(x, dim, "aten.cummin", torch.le)


@recipe(aten.logcumsumexp.default)
def logcumsumexp(x: Any, dim: int) -> Tensor:
    if x.dim() == 0:
        return x.clone()  # type: ignore[no-any-return]
    values = x.to(torch.promote_types(x.dtype, torch.float32))
    for places, has_one in spans(x, dim, "aten.logcumsumexp"):
        before = torch.where(has_one, values.index_select(dim, places), -math.inf)
        values = torch.logaddexp(values, before)
    return values.to(x.dtype)  # type: ignore[no-any-return]
