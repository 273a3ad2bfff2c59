"""Recipes that belong to no larger family."""

import math
from typing import Any

import torch
from torch import Tensor

from etlab.exir.decompose.recipes import recipe

aten = torch.ops.aten


@recipe(aten.linalg_vector_norm.default)
def linalg_vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Tensor:
    dtype = dtype or x.dtype
    x = x.to(torch.promote_types(dtype, torch.float32))
    dims = list(range(x.dim())) if dim is None or dim == [] else list(dim)
    if ord == math.inf:
        result = x.abs().amax(dims, keepdim)
    elif ord == -math.inf:
        result = x.abs().amin(dims, keepdim)
    elif ord == 0:
        result = (x != 0).to(x.dtype).sum(dims, keepdim)
    elif ord == 1:
        result = x.abs().sum(dims, keepdim)
    elif ord == 2:
        result = (x * x).sum(dims, keepdim).sqrt()
    else:
        result = x.abs().pow(ord).sum(dims, keepdim).pow(1.0 / ord)
    return result.to(dtype)


@recipe(aten.bucketize.Tensor)
def bucketize(
    x: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    column = x.unsqueeze(-1)
    result: Tensor = searchsorted(boundaries, column, out_int32=out_int32, right=right)
    return torch.squeeze(result, -1)


@recipe(aten.searchsorted.Tensor)
def searchsorted(
    sorted_sequence: Tensor,
    x: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    entries = sorted_sequence.unsqueeze(-2)
    value = x.unsqueeze(-1)
    is_left = entries <= value if right or side == "right" else entries < value
    if x.is_floating_point():
        is_left = is_left | torch.isnan(value)
    result: Tensor = is_left.sum(-1).to(torch.int32 if out_int32 else torch.int64)
    return result


@recipe(aten.adaptive_max_pool2d.default)
def adaptive_max_pool2d(x: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    height, width = x.shape[-2:]
    rows, columns = output_size
    if height % rows == 0 and width % columns == 0:
        kernel = [height // rows, width // columns]
        return aten.max_pool2d_with_indices.default(x, kernel, kernel)  # type: ignore[no-any-return]
    positions = torch.arange(height * width).reshape(height, width)
    values: list[Tensor] = []
    indices: list[Tensor] = []
    for row in range(rows):
        top, bottom = row * height // rows, -(-(row + 1) * height // rows)
        for column in range(columns):
            left, right = column * width // columns, -(-(column + 1) * width // columns)
            window = x[..., top:bottom, left:right].flatten(-2)
            value, place = window.max(-1)
            values.append(value)
            indices.append(positions[top:bottom, left:right].flatten()[place])
    shape = (*x.shape[:-2], rows, columns)
    return torch.stack(values, -1).reshape(shape), torch.stack(indices, -1).reshape(shape)


@recipe(aten.exp2.default)
def exp2(x: Tensor) -> Tensor:
    return torch.pow(2.0, x)


@recipe(aten.hypot.default)
def hypot(x: Tensor, y: Tensor) -> Tensor:
    large = torch.maximum(x.abs(), y.abs())
    small = torch.minimum(x.abs(), y.abs())
    ratio = torch.where(large == 0, 0.0, small / large)
    return torch.where(torch.isinf(large), math.inf, large * (1 + ratio * ratio).sqrt())


@recipe(aten.round.decimals)
def round_decimals(x: Tensor, *, decimals: int) -> Tensor:
    if decimals < 0:
        factor = 10.0**-decimals
        return torch.round(x / factor) * factor
    factor = 10.0**decimals
    return torch.round(x * factor) / factor
