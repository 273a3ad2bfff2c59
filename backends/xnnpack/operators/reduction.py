"""Averages and largest values over height and width, or along a sequence."""

from typing import Any

import torch
from torch import fx

from etlab.backends.xnnpack import moves
from etlab.backends.xnnpack.operators.registry import Context, argument, rule
from etlab.backends.xnnpack.payload.nodes import KEEP_DIMS
from etlab.backends.xnnpack.steps import Layout, Tensor
from etlab.backends.xnnpack.translate import Translation, symbols

aten = torch.ops.aten


def _dims(node: fx.Node) -> list[int]:
    """The dimensions that a reduction works on, from 0."""
    rank = node.all_input_nodes[0].meta["val"].dim()
    dims: Any = argument(node, 1, "dim")
    dims = [dims] if isinstance(dims, int) else list(dims or range(rank))
    return sorted(dim % rank for dim in dims)


def _why_not_mean(node: fx.Node, context: Context) -> str | None:
    source, dims = node.all_input_nodes[0].meta["val"], _dims(node)
    if (source.dim(), dims) not in ((4, [2, 3]), (3, [1]), (3, [2])):
        return (
            f"it averages dimensions {dims} of {source.dim()}, XNNPACK averages height and width of"
            " pictures, or along a sequence"
        )
    if argument(node, 3, "dtype") not in (None, source.dtype):
        return "it changes the dtype: convert before or after the mean"
    if source.dim() == 3 and symbols(source.shape) > 1:
        return "several of its sizes vary: fix all but one"
    if not argument(node, 2, "keepdim", False) and symbols(node.meta["val"].shape) > 1:
        return "batch and channels both vary: XNNPACK infers one size only"
    return None


@rule(aten.mean.dim, why_not=_why_not_mean)
def _mean(translation: Translation, node: fx.Node) -> Tensor:
    """Global pooling; a sequence is a picture of width 1 whose height is averaged."""
    source, result, dims = translation.tensor(node.args[0]), translation.result(node), _dims(node)
    if source.rank == 3:
        if dims == [1]:
            source = moves.permute(translation, source, (0, 2, 1))
        source = moves.reshape_last(translation, source, (*source.sizes, 1))
    average = translation.unary(
        "GlobalAvgPooling2d",
        source,
        translation.like(result, (*source.sizes[:2], 1, 1)),
        layout=Layout.CHANNELS_LAST,
        fields={"flags": KEEP_DIMS},
    )
    return _with_sizes(translation, average, result.sizes)


def _with_sizes(translation: Translation, tensor: Tensor, sizes: tuple[Any, ...]) -> Tensor:
    """The tensor itself if it has these sizes, or reshaped."""
    is_same = tensor.rank == len(sizes) and all(
        first is second or (isinstance(first, int) and first == second)
        for first, second in zip(tensor.sizes, sizes, strict=True)
    )
    return tensor if is_same else moves.reshape(translation, tensor, sizes)


def _why_not_largest(node: fx.Node, context: Context) -> str | None:
    if node.target is aten.max.dim and any(user.args[1] != 0 for user in node.users):
        return "its indices are used, XNNPACK gives the largest values only"
    source, dims = node.all_input_nodes[0].meta["val"], _dims(node)
    if source.dim() != 4 or not dims or not set(dims) <= {2, 3}:
        return f"it takes the largest over dimensions {dims} of {source.dim()}, not height or width"
    window = [source.shape[dim] for dim in dims]
    if symbols(window):
        return "height or width varies: XNNPACK pools windows of fixed size"
    if max(window) == 1:
        return "its window is a single element, which XNNPACK refuses: use squeeze instead"
    if symbols([*source.shape[:2], *source.shape[2:]]) > 1:
        return "several of its sizes vary: fix all but one"
    return None


@rule(aten.amax.default, why_not=_why_not_largest)
def _largest(translation: Translation, node: fx.Node) -> Tensor:
    """Max pooling with a window of the whole dimension."""
    source, dims = translation.tensor(node.args[0]), _dims(node)
    height, width = (source.sizes[dim] if dim in dims else 1 for dim in (2, 3))
    fields = {"pooling_height": height, "pooling_width": width}
    fields |= {"stride_height": height, "stride_width": width}
    fields |= {"dilation_height": 1, "dilation_width": 1}
    sizes = tuple(1 if dim in dims else size for dim, size in enumerate(source.sizes))
    pooled = translation.unary(
        "MaxPooling2d",
        source,
        translation.like(source, sizes),
        layout=Layout.CHANNELS_LAST,
        fields=fields,
    )
    val = node.meta["val"]
    wanted = tuple((val[0] if isinstance(val, tuple | list) else val).shape)
    return _with_sizes(translation, pooled, wanted)


@rule(aten.max.dim, why_not=_why_not_largest)
def _largest_without_place(translation: Translation, node: fx.Node) -> tuple[Tensor, None]:
    return _largest(translation, node), None
