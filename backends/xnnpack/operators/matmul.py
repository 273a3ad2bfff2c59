"""Matrix products: linear layers with constant weights, and products of two results."""

from typing import Any

import torch
from torch import fx

from etlab.backends.xnnpack import weights
from etlab.backends.xnnpack.operators.registry import Context, argument, rule
from etlab.backends.xnnpack.payload.nodes import TRANSPOSE_WEIGHTS
from etlab.backends.xnnpack.quantized import Weight
from etlab.backends.xnnpack.steps import Layout, PerChannel, Tensor
from etlab.backends.xnnpack.translate import Translation

aten = torch.ops.aten


def _why_not_linear(node: fx.Node, context: Context) -> str | None:
    bias = argument(node, 2, "bias")
    result = node.meta["val"]
    if result.dim() == 0:
        return "its result has no dimensions"
    if result.dtype is torch.bfloat16 and not context.is_constant(node.args[1]):
        return "its weight is no parameter: in bfloat16 XNNPACK wants it constant"
    if bias is not None and not context.is_constant(bias) and result.dtype is torch.bfloat16:
        return "its bias is no parameter: in bfloat16 XNNPACK wants it constant"
    return None


@rule(aten.linear.default, why_not=_why_not_linear, is_kept=True)
def _linear(translation: Translation, node: fx.Node) -> Tensor:
    weight_node: Any = node.args[1]
    weight = translation.plan.weights.get(weight_node)
    stored = (
        translation.tensor(weight_node)
        if weight is None
        else _quantized_weight(translation, node, weight)
    )
    return fully_connected(translation, node, node.args[0], stored, argument(node, 2, "bias"))


def _quantized_weight(translation: Translation, node: fx.Node, weight: Weight) -> Tensor:
    """A weight as XNNPACK takes it for this layer: quantized where it can, else as floats."""
    if node in translation.plan.static:  # XNNPACK has no nibbles there: they are stored as bytes
        return weights.kernel(weight, weight.elements, (0, 1))
    is_quantized = node in translation.plan.dynamic
    is_for_floats = isinstance(weight.quantization, PerChannel) and weight.bits == 8
    if is_quantized or (is_for_floats and node.meta["val"].dtype is torch.float32):
        return weights.matrix(weight)
    return translation.constant(translation.value(weight.node))


def fully_connected(
    translation: Translation,
    node: fx.Node,
    source: Any,
    weight: Tensor,
    bias: Any,
    flags: int = 0,
) -> Tensor:
    """`source @ weight.T + bias`; the weight is (out, in), or (in, out) with TRANSPOSE_WEIGHTS."""
    result = translation.result(node)
    rows = translation.plan.dynamic.get(node)
    given = translation.tensor(source) if rows is None else translation.rows(rows, 1)
    fused: Tensor | None = None
    # With quantized weights for floats XNNPACK scales the bias, too: there it is added afterwards.
    scales_bias = weight.quantization is not None and given.quantization is None
    if bias is not None and bias in translation.constants and not scales_bias:
        value = translation.constants[bias]
        if value.numel() == result.sizes[-1] and value.shape[-1] == value.numel():
            fused = weights.bias(translation, node, bias, given)
    output = result if bias is None or fused is not None else translation.like(result, result.sizes)
    inputs = {"input1_id": given, "filter_id": weight, "bias_id": fused}
    output = translation.emit(
        "FullyConnected",
        inputs,
        output,
        layout=Layout.PLAIN,
        fields={"flags": flags},
        fixed_inputs=("filter_id", "bias_id"),
    )
    if bias is None or fused is not None:
        return output
    return translation.binary("Add", output, translation.tensor(bias), result)


def _why_not_addmm(node: fx.Node, context: Context) -> str | None:
    if argument(node, 3, "beta", 1) != 1 or argument(node, 4, "alpha", 1) != 1:
        return "its beta or alpha is not 1: multiply outside of addmm"
    return None


@rule(aten.addmm.default, why_not=_why_not_addmm)
def _addmm(translation: Translation, node: fx.Node) -> Tensor:
    bias, source, matrix = node.args[:3]
    weight, flags = _as_weight(translation, matrix)
    return fully_connected(translation, node, source, weight, bias, flags)


@rule(aten.mm.default)
def _mm(translation: Translation, node: fx.Node) -> Tensor:
    weight, flags = _as_weight(translation, node.args[1])
    return fully_connected(translation, node, node.args[0], weight, None, flags)


def _as_weight(translation: Translation, matrix: Any) -> tuple[Tensor, int]:
    """A matrix (in, out) as the weight of a fully connected node, and the node's flags."""
    if matrix in translation.constants:
        return translation.constant(translation.constants[matrix].t()), 0
    return translation.tensor(matrix), TRANSPOSE_WEIGHTS


@rule(aten.bmm.default)
def _bmm(translation: Translation, node: fx.Node) -> Tensor:
    first, second = translation.tensor(node.args[0]), translation.tensor(node.args[1])
    return batch_matrix_multiply(translation, first, second, translation.result(node))


def batch_matrix_multiply(
    translation: Translation, first: Tensor, second: Tensor, result: Tensor, flags: int = 0
) -> Tensor:
    """`first @ second` over leading dimensions; with TRANSPOSE_B `first @ second.T`."""
    return translation.emit(
        "BatchMatrixMultiply",
        {"input1_id": first, "input2_id": second},
        result,
        layout=Layout.PLAIN,
        fields={"flags": flags},
    )
