"""Pooling, averages over pictures, and resizing."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from etlab.backends.xnnpack import moves
from etlab.backends.xnnpack.operators.registry import Context, argument, rule
from etlab.backends.xnnpack.payload.nodes import ALIGN_CORNERS, KEEP_DIMS
from etlab.backends.xnnpack.steps import Layout, Tensor
from etlab.backends.xnnpack.translate import Translation, symbols

aten = torch.ops.aten


def _two(value: Any, default: Any = None) -> list[int]:
    """One or two values as (height, width)."""
    if value is None or value == []:
        value = default
    values = [value, value] if isinstance(value, int) else list(value)
    return values * 2 if len(values) == 1 else values


def _window(node: fx.Node) -> tuple[list[int], list[int], list[int]]:
    """Kernel, stride and padding of a pooling."""
    kernel = _two(node.args[1])
    stride = _two(argument(node, 2, "stride"), kernel)
    return kernel, stride, _two(argument(node, 3, "padding", 0), 0)


def _fields(
    kernel: list[int], stride: list[int], pads: list[int], dilation: Sequence[int] = (1, 1)
) -> dict[str, int]:
    """The fields of a pooling node; `pads` are (top, right, bottom, left)."""
    names = ("padding_top", "padding_right", "padding_bottom", "padding_left")
    return {
        **dict(zip(names, pads, strict=True)),
        "pooling_height": kernel[0],
        "pooling_width": kernel[1],
        "stride_height": stride[0],
        "stride_width": stride[1],
        "dilation_height": dilation[0],
        "dilation_width": dilation[1],
    }


def _why_not_window(node: fx.Node) -> str | None:
    source = node.all_input_nodes[0].meta["val"]
    if source.dim() not in (3, 4):
        return f"its input has {source.dim()} dimensions, XNNPACK pools 3 or 4"
    if source.dim() == 3 and symbols(source.shape) > 1:
        return "several of its three sizes vary: give it a batch dimension"
    kernel, stride, _ = _window(node)
    if kernel == [1, 1]:
        return "its window is a single element, which XNNPACK refuses: use slicing instead"
    if stride[0] > kernel[0] or stride[1] > kernel[1]:
        return f"its stride {stride} is larger than its window {kernel}, which XNNPACK refuses"
    return None


def _extra(node: fx.Node, dilation: list[int]) -> list[int] | None:
    """Elements that ceil mode adds at the bottom and right; None when sizes vary."""
    source, result = node.all_input_nodes[0].meta["val"], node.meta["val"]
    result = result[0] if isinstance(result, tuple | list) else result
    kernel, stride, padding = _window(node)
    extra = []
    for axis in range(2):
        size, out = source.shape[axis - 2], result.shape[axis - 2]
        if not isinstance(size, int) or not isinstance(out, int):
            return None
        reach = (out - 1) * stride[axis] + dilation[axis] * (kernel[axis] - 1) + 1
        extra.append(max(0, reach - size - 2 * padding[axis]))
    return extra


def _why_not_max_pool(node: fx.Node, context: Context) -> str | None:
    if any(user.args[1] != 0 for user in node.users):
        return "its indices are used, XNNPACK gives the largest values only"
    reason = _why_not_window(node)
    is_ceil = argument(node, 5, "ceil_mode", False)
    if is_ceil and _extra(node, _two(argument(node, 4, "dilation", 1), 1)) is None:
        return "ceil mode on sizes that vary: fix height and width, or use ceil_mode=False"
    return reason


@rule(aten.max_pool2d_with_indices.default, why_not=_why_not_max_pool)
def _max_pool(translation: Translation, node: fx.Node) -> tuple[Tensor, None]:
    kernel, stride, padding = _window(node)
    dilation = _two(argument(node, 4, "dilation", 1), 1)
    extra = [0, 0]
    if argument(node, 5, "ceil_mode", False):
        extra = _extra(node, dilation) or extra
    pads = [padding[0], padding[1] + extra[1], padding[0] + extra[0], padding[1]]
    fields = _fields(kernel, stride, pads, dilation)
    source = translation.tensor(node.args[0])
    val = node.meta["val"][0]
    return _pool(translation, "MaxPooling2d", source, tuple(val.shape), fields), None


def _pool(
    translation: Translation, kind: str, source: Tensor, sizes: tuple[Any, ...], fields: Any
) -> Tensor:
    """A pooling of pictures with or without a batch dimension."""
    if source.rank == 3:
        source, batched = moves.reshape(translation, source, (1, *source.sizes)), (1, *sizes)
        output = _pool(translation, kind, source, batched, fields)
        return moves.reshape(translation, output, sizes)
    return translation.unary(
        kind, source, translation.like(source, sizes), layout=Layout.CHANNELS_LAST, fields=fields
    )


def _why_not_average_pool(node: fx.Node, context: Context) -> str | None:
    kernel, _, _ = _window(node)
    divisor = argument(node, 6, "divisor_override")
    if divisor is not None and divisor != kernel[0] * kernel[1]:
        return f"it divides by {divisor}, not by its window of {kernel}: scale it afterwards"
    if argument(node, 4, "ceil_mode", False) and _extra(node, [1, 1]) != [0, 0]:
        return "its last windows reach beyond the picture (ceil mode), XNNPACK's do not"
    return _why_not_window(node)


@rule(aten.avg_pool2d.default, why_not=_why_not_average_pool)
def _average_pool(translation: Translation, node: fx.Node) -> Tensor:
    """Padding that counts as zeros is made before; XNNPACK's own does not count."""
    kernel, stride, (height, width) = _window(node)
    source, sizes = translation.tensor(node.args[0]), tuple(node.meta["val"].shape)
    counts_padding = argument(node, 5, "count_include_pad", True)
    if counts_padding and (height or width):
        around = [(0, 0)] * (source.rank - 2) + [(height, height), (width, width)]
        source = moves.pad(translation, source, around, 0.0)
        height = width = 0
    fields = _fields(kernel, stride, [height, width, height, width]) | {"flags": KEEP_DIMS}
    return _pool(translation, "AvgPooling2d", source, sizes, fields)


def _why_not_resize(node: fx.Node, context: Context) -> str | None:
    source, result = node.all_input_nodes[0].meta["val"], node.meta["val"]
    if symbols((*source.shape[2:], *result.shape[2:])):
        return "its sizes vary, XNNPACK resizes to fixed ones: fix height and width"
    factors: Any = argument(node, 3, "scale_factors")
    if factors is not None and not argument(node, 2, "align_corners", False):
        ratios = [out / size for out, size in zip(result.shape[2:], source.shape[2:], strict=True)]
        if any(float(f) != ratio for f, ratio in zip(factors, ratios, strict=True)):
            return (
                f"its scale factors {list(factors)} are not the ratio of its sizes, which is what"
                " XNNPACK resizes by: give size= instead of scale_factor="
            )
    return None


@rule(aten.upsample_bilinear2d.vec, why_not=_why_not_resize, is_kept=True)
def _resize(translation: Translation, node: fx.Node) -> Tensor:
    result = translation.result(node)
    fields = {
        "new_height": result.sizes[2],
        "new_width": result.sizes[3],
        "flags": ALIGN_CORNERS if argument(node, 2, "align_corners", False) else 0,
    }
    source = translation.tensor(node.args[0])
    return translation.unary(
        "StaticResizeBilinear2D", source, result, layout=Layout.CHANNELS_LAST, fields=fields
    )
