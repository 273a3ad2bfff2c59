"""Distinct elements: the first of every run of equals is selected."""

from typing import Any

import torch
from torch import Tensor, fx

from etlab.exir.decompose.paste import paste
from etlab.exir.decompose.plan import rule
from etlab.exir.decompose.walk import Walk

aten = torch.ops.aten


def _runs_of_sorted(x: Tensor) -> tuple[Tensor, ...]:
    values, order = torch.sort(x.reshape(-1))
    is_first, number, counts = _runs(values)
    inverse = torch.zeros_like(number).scatter(0, order, number)
    return values, is_first, inverse.reshape(x.shape), counts, counts > 0


def _runs_as_they_stand(x: Tensor) -> tuple[Tensor, ...]:
    values = x.reshape(-1)
    is_first, number, counts = _runs(values)
    return values, is_first, number.reshape(x.shape), counts, counts > 0


def _runs(values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Which elements begin a run, the number of every element's run, how long the runs are."""
    place = torch.arange(values.shape[0])
    is_first = (values != torch.roll(values, 1, 0)) | (place == 0)
    number = torch.cumsum(is_first.to(torch.int64), 0) - 1
    ones = torch.ones_like(number)
    return is_first, number, torch.zeros_like(number).scatter_add(0, number, ones)


def _selected(
    walk: Walk, val: Any, parts: Any, *, return_inverse: bool, return_counts: bool
) -> tuple[fx.Node, fx.Node, fx.Node]:
    """(distinct elements, inverse, counts); the sizes of the first and last are found at run time.

    What was not asked for has no elements.
    """
    values, is_first, inverse, counts, is_counted = parts
    distinct = walk.emit(aten.masked_select.default, values, is_first, val=val[0])
    found = _nothing(walk)
    if return_counts:
        found = walk.emit(aten.masked_select.default, counts, is_counted, val=val[2])
    return distinct, inverse if return_inverse else _nothing(walk), found


def _nothing(walk: Walk) -> fx.Node:
    return walk.constant(torch.zeros(0, dtype=torch.int64))


@rule("aten._unique2.default")
def unique(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    is_sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    parts = paste(walk, _runs_of_sorted, (tensor,), {}, None)
    asked = {"return_inverse": return_inverse, "return_counts": return_counts}
    return _selected(walk, val, parts, **asked)


@rule("aten.unique_consecutive.default")
def unique_consecutive(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    rank = tensor.meta["val"].dim()
    if dim is not None and rank != 1:
        arguments = (tensor, return_inverse, return_counts, dim)
        return walk.refuse(aten.unique_consecutive.default, arguments, {}, val)
    parts = paste(walk, _runs_as_they_stand, (tensor,), {}, None)
    asked = {"return_inverse": return_inverse, "return_counts": return_counts}
    return _selected(walk, val, parts, **asked)
