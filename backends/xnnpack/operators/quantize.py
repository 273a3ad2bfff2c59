"""Conversions between floats and quantized elements, where no operator takes them along."""

from typing import Any

from torch import fx

from etlab.backends.xnnpack import quantized
from etlab.backends.xnnpack.operators.registry import Context, rule
from etlab.backends.xnnpack.steps import Tensor
from etlab.backends.xnnpack.translate import Translation
from etlab.exir.graph import is_getitem

_CHAIN = (*quantized.CHOOSE, *quantized.QUANTIZE_DYNAMIC, *quantized.DEQUANTIZE_DYNAMIC)


def _why_not_static(node: fx.Node, context: Context) -> str | None:
    if quantized.per_tensor(node) is None:
        return "it is not of int8 with a fixed scale, which is what XNNPACK converts"
    return None


@rule(quantized.QUANTIZE, why_not=_why_not_static, moves_only=True, checks_tensors=False)
def _quantize(translation: Translation, node: fx.Node) -> Tensor:
    """The operator before wrote quantized elements already, or they are converted."""
    source: Any = node.args[0]
    tensor = translation.raw(source)
    wanted = quantized.per_tensor(node)
    assert wanted is not None
    if tensor.quantization == wanted:
        return tensor
    source_tensor = translation.tensor(source)
    return translation.unary("Convert", source_tensor, translation.quantized(source_tensor, wanted))


def _why_not_dequantize(node: fx.Node, context: Context) -> str | None:
    if node in context.plan.weights:
        return _why_not_weight(node, context)
    return _why_not_static(node, context)


def _why_not_weight(node: fx.Node, context: Context) -> str | None:
    if context.plan.weights[node].quantization is None:
        return "its weight has a zero point, or blocks that XNNPACK does not know"
    return None


@rule(quantized.DEQUANTIZE, why_not=_why_not_dequantize, moves_only=True, checks_tensors=False)
def _dequantize(translation: Translation, node: fx.Node) -> Tensor | None:
    """Nothing by itself: who wants floats converts, once."""
    if node in translation.plan.weights:
        return None
    return translation.raw(node.args[0])


def _why_not_channels(node: fx.Node, context: Context) -> str | None:
    if node not in context.plan.weights:
        return "it works on something that is no constant"
    return _why_not_weight(node, context)


@rule(
    quantized.DEQUANTIZE_CHANNELS,
    why_not=_why_not_channels,
    moves_only=True,
    checks_tensors=False,
)
def _dequantize_channels(translation: Translation, node: fx.Node) -> None:
    """A weight: its layer reads it."""


def _why_not_chain(node: fx.Node, context: Context) -> str | None:
    if node in context.plan.weights:
        return _why_not_weight(node, context)
    if node in context.plan.chains:
        return None
    reached, reasons = [node], context.plan.reasons
    for user in reached:  # a chain has few nodes
        if user in reasons:
            return f"the layer '{user.name}' behind it stays, since {reasons[user]}"
        if str(user.target) in _CHAIN or is_getitem(user):
            reached += user.users
    return "no layer that XNNPACK quantizes at run time uses it"


@rule(
    *_CHAIN,
    why_not=_why_not_chain,
    moves_only=True,
    is_kept=True,
    checks_tensors=False,
)
def _chain(translation: Translation, node: fx.Node) -> None:
    """Part of a layer that quantizes its input: the layer converts."""
