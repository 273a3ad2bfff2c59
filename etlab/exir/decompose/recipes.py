"""Decompositions of our own, for operators that have no kernel and no official one.

Each is an ordinary function of tensors; it is recorded as a template like the official ones.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from etlab.errors import NotSupportedError

aten = torch.ops.aten

RECIPES: dict[Any, Callable[..., Any]] = {}

# Up to this many elements, recipes that compare all with all or unroll a loop are used.
_MAX_PAIRS = 512


def recipe(*operators: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a decomposition for `operators`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for operator in operators:
            RECIPES[operator] = function
        return function

    return register


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


@recipe(aten.mkldnn_rnn_layer.default)
def mkldnn_rnn_layer(
    x: Tensor,
    input_weight: Tensor,
    hidden_weight: Tensor,
    input_bias: Tensor,
    hidden_bias: Tensor,
    hidden: Tensor,
    cell: Tensor,
    reverse: bool,
    batch_sizes: list[int],
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    *_: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One LSTM layer over x (steps, batch, features), unrolled over time."""
    bias = (input_bias, hidden_bias) if has_biases else (None, None)
    inputs = torch.nn.functional.linear(x, input_weight, bias[0])
    hidden, cell = hidden.squeeze(0), cell.squeeze(0)
    steps = range(x.shape[0])
    outputs: list[Tensor] = []
    for step in reversed(steps) if reverse else steps:
        gates = inputs[step] + torch.nn.functional.linear(hidden, hidden_weight, bias[1])
        entering, forgetting, candidate, leaving = gates.chunk(4, dim=1)
        cell = forgetting.sigmoid() * cell + entering.sigmoid() * candidate.tanh()
        hidden = leaving.sigmoid() * cell.tanh()
        outputs.append(hidden)
    if reverse:
        outputs.reverse()
    return torch.stack(outputs), hidden.unsqueeze(0), cell.unsqueeze(0), x.new_zeros(0)


def _ordered_before(x: Tensor, y: Tensor, descending: bool) -> tuple[Tensor, Tensor]:
    """Whether y comes before x, and whether they tie; NaN counts as the largest value."""
    if descending:
        x, y = y, x
    before, tie = y < x, y == x
    if x.is_floating_point():
        x_nan, y_nan = torch.isnan(x), torch.isnan(y)
        before, tie = before | (x_nan & ~y_nan), tie | (x_nan & y_nan)
    return before, tie


@recipe(aten.sort.default, aten.sort.stable)
def sort(x: Any, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Stable sort: every element's place is the number of elements that come before it."""
    options = dict(kwargs)
    rest = list(args)
    if rest and isinstance(rest[0], bool) and "stable" not in options:
        rest.pop(0)
    dim = rest.pop(0) if rest else options.get("dim", -1)
    descending = rest.pop(0) if rest else options.get("descending", False)
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.long)
    size = x.shape[dim]
    moved = x.movedim(dim, -1)
    if not isinstance(size, int) or size > _MAX_PAIRS:
        raise NotSupportedError(
            f"sort of {size} elements: only static sizes up to {_MAX_PAIRS} have a decomposition"
        )
    before, tie = _ordered_before(moved.unsqueeze(-1), moved.unsqueeze(-2), descending)
    index = torch.arange(size)
    earlier = index.unsqueeze(0) < index.unsqueeze(1)
    place = (before | (tie & earlier)).sum(-1)
    values = torch.zeros_like(moved).scatter(-1, place, moved)
    order = torch.zeros_like(place).scatter(-1, place, index.expand_as(place))
    return values.movedim(-1, dim), order.movedim(-1, dim)


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


@recipe(aten.cumprod.default)
def cumprod(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    if dtype is None:
        dtype = x.dtype if x.is_floating_point() else torch.int64
    x = x.to(dtype)
    if x.dim() == 0:
        return x.clone()
    size = x.shape[dim]
    if not isinstance(size, int) or size > _MAX_PAIRS:
        raise NotSupportedError(
            f"cumprod over {size} elements: only static sizes up to {_MAX_PAIRS} have a "
            "decomposition"
        )
    parts = list(torch.split(x, 1, dim))
    for index in range(1, size):
        parts[index] = parts[index - 1] * parts[index]
    return torch.cat(parts, dim) if parts else x.clone()


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
