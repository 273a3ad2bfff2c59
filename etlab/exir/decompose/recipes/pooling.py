"""Pooling over three dimensions, as pooling over the last two and then over the first.

A window is a box, so its mean is the mean of means, its maximum the maximum of maxima; windows are
gone through in the same order, which keeps the indices of equal maxima those of eager.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from etlab.exir.decompose.recipes import recipe

aten = torch.ops.aten


def _triple(value: Any) -> list[Any]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    return values * 3 if len(values) == 1 else values


def _planes(x: Tensor) -> Tensor:
    """(..., depth, height, width) as (batch * channels, depth, height, width)."""
    return x.reshape(-1, *x.shape[-3:])


def _columns(planes: Tensor) -> Tensor:
    """(n, depth, rows, columns) as (n, depth, rows * columns): what is left to pool is depth."""
    return planes.reshape(planes.shape[0], planes.shape[1], -1)


def _shaped(columns: Tensor, like: Tensor, rows: Any, width: Any) -> Tensor:
    return columns.reshape(*like.shape[:-3], columns.shape[1], rows, width)


@recipe(aten.avg_pool3d.default)
def avg_pool3d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    kernel, pad = _triple(kernel_size), _triple(padding)
    step = _triple(stride) if stride not in ([], ()) else kernel
    first, second = (None, None) if divisor_override is None else (1, divisor_override)
    options = (ceil_mode, count_include_pad)
    planes = aten.avg_pool2d.default(_planes(x), kernel[1:], step[1:], pad[1:], *options, first)
    columns = aten.avg_pool2d.default(
        _columns(planes), [kernel[0], 1], [step[0], 1], [pad[0], 0], *options, second
    )
    return _shaped(columns, x, *planes.shape[-2:])


@recipe(aten._adaptive_avg_pool3d.default)
def adaptive_avg_pool3d(x: Tensor, output_size: Sequence[int]) -> Tensor:
    depth, rows, width = output_size
    planes = torch.nn.functional.adaptive_avg_pool2d(_planes(x), (rows, width))
    columns = _columns(planes)
    pooled = torch.nn.functional.adaptive_avg_pool2d(columns, (depth, columns.shape[-1]))
    return _shaped(pooled, x, rows, width)


@recipe(aten.max_pool3d_with_indices.default)
def max_pool3d_with_indices(
    x: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    kernel, pad, spread = _triple(kernel_size), _triple(padding), _triple(dilation)
    step = _triple(stride) if stride not in ([], ()) else kernel
    pool = aten.max_pool2d_with_indices.default
    planes, inner = pool(_planes(x), kernel[1:], step[1:], pad[1:], spread[1:], ceil_mode)
    columns, outer = pool(
        _columns(planes), [kernel[0], 1], [step[0], 1], [pad[0], 0], [spread[0], 1], ceil_mode
    )
    return _with_indices(x, columns, outer, inner)


@recipe(aten.max_pool3d.default)
def max_pool3d(x: Tensor, *arguments: Any) -> Tensor:
    values: Tensor = max_pool3d_with_indices(x, *arguments)[0]
    return values


@recipe(aten.adaptive_max_pool3d.default)
def adaptive_max_pool3d(x: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    depth, rows, width = output_size
    planes, inner = aten.adaptive_max_pool2d.default(_planes(x), [rows, width])
    columns = _columns(planes)
    pooled, outer = aten.adaptive_max_pool2d.default(columns, [depth, columns.shape[-1]])
    return _with_indices(x, pooled, outer, inner)


def _with_indices(
    x: Tensor, columns: Tensor, outer: Tensor, inner: Tensor
) -> tuple[Tensor, Tensor]:
    """Maxima and their places in (depth, height, width) of x.

    Args:
        x: what is pooled.
        columns: the maxima, (n, pooled depth, rows * columns).
        outer: their places in (depth, rows * columns).
        inner: places in (height, width) of the maxima of the planes, (n, depth, rows, columns).
    """
    rows, width = inner.shape[-2:]
    depth = torch.div(outer, rows * width, rounding_mode="floor")
    found = inner.reshape(inner.shape[0], -1).gather(1, outer.reshape(outer.shape[0], -1))
    place = found.reshape(outer.shape) + depth * (x.shape[-2] * x.shape[-1])
    return _shaped(columns, x, rows, width), _shaped(place, x, rows, width)


@recipe(aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums (mode 0), means (1) or maxima (2) of the rows of each bag; the first result is read."""
    indices, offsets = indices.long(), offsets.long()
    position = torch.arange(indices.shape[0])
    is_padding = indices == padding_idx if padding_idx >= 0 else torch.zeros_like(indices) != 0
    is_left_out = is_padding
    if include_last_offset:
        # Eager leaves items after the last bag's end out of sums, but not out of the number that
        # means are divided by, nor out of maxima.
        if mode != 2:
            is_left_out = is_padding | (position >= offsets[-1])
        offsets = offsets[:-1]
    begins = position.unsqueeze(1) >= offsets.unsqueeze(0)  # (items, bags)
    bag = begins.long().sum(1) - 1  # (items)
    rows = weight[indices]  # (items, width)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    rows = torch.where(is_left_out.unsqueeze(1), -torch.inf if mode == 2 else 0.0, rows)
    counted = torch.where(is_padding, 0, 1)
    bags = offsets.shape[0]
    zero = torch.zeros(bags, dtype=torch.long)
    size = zero.index_put([bag], counted, accumulate=True)  # (bags)
    if mode == 2:
        is_member = bag.unsqueeze(0) == torch.arange(bags).unsqueeze(1)  # (bags, items)
        candidates = torch.where(is_member.unsqueeze(2), rows.unsqueeze(0), -torch.inf)
        result = torch.where((size > 0).unsqueeze(1), candidates.amax(1), 0.0)
    else:
        result = torch.zeros(bags, weight.shape[1], dtype=rows.dtype)
        result = result.index_put([bag], rows, accumulate=True)
        if mode == 1:
            result = result / size.clamp(min=1).unsqueeze(1)
    return result.to(weight.dtype), bag, size, size
