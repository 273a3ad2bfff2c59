"""Convolutions: of pictures and of sequences, depthwise, transposed."""

from typing import Any

import torch
from torch import fx

from etlab.backends.xnnpack import moves, weights
from etlab.backends.xnnpack.operators.registry import Context, is_zero_padding, rule
from etlab.backends.xnnpack.payload.schema import Datatype
from etlab.backends.xnnpack.quantized import Weight
from etlab.backends.xnnpack.steps import Layout, Tensor
from etlab.backends.xnnpack.translate import Translation

aten = torch.ops.aten


def _why_not(node: fx.Node, context: Context) -> str | None:
    source, weight, bias = node.args[:3]
    if not context.is_constant(weight):
        return "its weight is no parameter: XNNPACK packs convolution weights ahead of time"
    if not context.is_constant(bias):
        return "its bias is no parameter: add it after the convolution"
    rank = source.meta["val"].dim()  # type: ignore[union-attr]
    if rank not in (3, 4):
        return f"its input has {rank} dimensions, XNNPACK convolves in 1 or 2 of 3 or 4"
    if node.meta["val"].dtype is torch.bfloat16:
        return "XNNPACK has no convolution in bfloat16: compute it in float32"
    sizes = source.meta["val"].shape  # type: ignore[union-attr]
    if rank == 3 and not (isinstance(sizes[0], int) or isinstance(sizes[2], int)):
        return "batch and length both vary: XNNPACK infers one of them only, fix the other"
    return None


@rule(aten.convolution.default, why_not=_why_not)
def _convolution(translation: Translation, node: fx.Node) -> Tensor:
    """Weights (out, in / groups, ...), transposed (in, out / groups, ...)."""
    source_node, weight_node, bias_node, *_ = node.args
    is_transposed, groups = bool(node.args[6]), int(node.args[8])  # type: ignore[arg-type]
    source_node, padding = _absorb_padding(source_node, node)
    rows, result = translation.plan.dynamic.get(node), translation.result(node)
    source = translation.tensor(source_node) if rows is None else translation.rows(rows, 3)
    integers = _integers(translation, node)
    weight = translation.value(weight_node).float() if integers is None else integers.elements
    is_sequence = source.rank == 3
    if is_sequence:
        weight = weight.unsqueeze(2)
    if is_transposed:
        weight = _swap_channels(weight, groups)
    in_channels, out_channels = weight.shape[1], weight.shape[0] // groups
    is_depthwise = in_channels == 1 and groups > 1 and not is_transposed
    kind = "DepthwiseConv2d" if is_depthwise else "Conv2d"
    kind = "ConvTranspose2d" if is_transposed else kind
    order = (1, 2, 3, 0) if is_depthwise else (0, 2, 3, 1)
    stored = (
        translation.constant(weight.permute(order))
        if integers is None
        else weights.kernel(integers, weight, order)
    )
    bias = weights.bias(translation, node, bias_node, source)
    if bias is not None and bias.datatype is Datatype.FP16:
        bias = translation.constant(translation.value(bias_node).float())
    fields = {
        **padding,
        "kernel_height": weight.shape[2],
        "kernel_width": weight.shape[3],
        **_pair("subsampling", node.args[3], 1),
        **_pair("dilation", node.args[5], 1),
        **(_pair("adjustment", node.args[7], 0) if is_transposed else {}),
        "group_input_channels": in_channels,
        "group_output_channels": out_channels,
        "groups": groups,
    }
    inputs = {
        "input1_id": _as_picture(translation, source),
        "filter_id": stored,
        "bias_id": bias,
    }
    sizes = result.sizes
    output = result
    if is_sequence:
        output = translation.like(result, (sizes[0], sizes[1], 1, sizes[2]))
    output = translation.emit(
        kind,
        inputs,
        output,
        layout=Layout.CHANNELS_LAST,
        fields=fields,
        fixed_inputs=("filter_id", "bias_id"),
    )
    return moves.reshape_last(translation, output, sizes) if is_sequence else output


def _integers(translation: Translation, node: fx.Node) -> Weight | None:
    """The weight of a convolution that computes with integers."""
    if node in translation.plan.static or node in translation.plan.dynamic:
        return translation.plan.weights[node.args[1]]  # type: ignore[index]
    return None


def _as_picture(translation: Translation, tensor: Tensor) -> Tensor:
    """A sequence (batch, channels, length) as a picture of height 1; pictures as they are."""
    if tensor.rank == 4:
        return tensor
    batch, channels, length = tensor.sizes
    return moves.reshape_last(translation, tensor, (batch, channels, 1, length))


def _pair(name: str, values: Any, missing: int) -> dict[str, int]:
    """`name_height` and `name_width` of one or two values; of a sequence only the width."""
    rest = list(values)
    if len(rest) == 1:
        rest = [missing, rest[0]]
    return {f"{name}_height": rest[0], f"{name}_width": rest[1]}


def _absorb_padding(source: Any, node: fx.Node) -> tuple[Any, dict[str, int]]:
    """The input of a convolution before zero padding, and the convolution's whole padding."""
    values: Any = node.args[4]
    height, width = (0, values[0]) if len(values) == 1 else values
    if source.meta["val"].dim() == 4 and len(values) == 1:
        height = width
    top, bottom, left, right = height, height, width, width
    spatial = source.meta["val"].dim() - 2
    if not node.args[6] and is_zero_padding(source, spatial):
        amounts = [*source.args[1], 0, 0, 0, 0][:4]
        if spatial == 1:
            amounts[2:] = [0, 0]
        left, right, top, bottom = (
            left + amounts[0],
            right + amounts[1],
            top + amounts[2],
            bottom + amounts[3],
        )
        source = source.args[0]
    names = ("padding_top", "padding_right", "padding_bottom", "padding_left")
    return source, dict(zip(names, (top, right, bottom, left), strict=True))


def _swap_channels(weight: torch.Tensor, groups: int) -> torch.Tensor:
    """(in, out / groups, ...) to (out, in / groups, ...)."""
    grouped = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    swapped = grouped.transpose(1, 2)
    return swapped.reshape(groups * weight.shape[1], -1, *weight.shape[2:])
