"""Operators on the elements of two tensors, or of a tensor and a number."""

import math

import torch
from torch import fx

from etlab.backends.xnnpack import moves
from etlab.backends.xnnpack.operators.registry import Context, argument, rule
from etlab.backends.xnnpack.steps import Layout, Tensor
from etlab.backends.xnnpack.translate import Translation

aten = torch.ops.aten

_KINDS = {
    aten.add.Tensor: "Add",
    aten.add.Scalar: "Add",
    aten.sub.Tensor: "Subtract",
    aten.sub.Scalar: "Subtract",
    aten.mul.Tensor: "Multiply",
    aten.mul.Scalar: "Multiply",
    aten.div.Tensor: "Div",
    aten.div.Scalar: "Div",
    aten.minimum.default: "Minimum",
    aten.maximum.default: "Maximum",
}


def _why_not(node: fx.Node, context: Context) -> str | None:
    if not isinstance(argument(node, 2, "alpha", 1), int | float):
        return "its alpha is known only at run time"
    if isinstance(node.args[1], fx.Node) and not isinstance(node.args[1].meta["val"], torch.Tensor):
        return "its second operand is a number known only at run time: make it a tensor"
    if node.meta["val"].dtype is torch.float16:
        for number in (a for a in node.args[:2] if isinstance(a, int | float)):
            # PyTorch computes with the number itself: 0 x -1e9 is 0, and 0 x -inf is none.
            if math.isfinite(number) and abs(number) > torch.finfo(torch.float16).max:
                return f"{number:g} is infinite in float16: write a number of at most 65504"
    return None


@rule(*_KINDS, why_not=_why_not)
def _binary(translation: Translation, node: fx.Node) -> Tensor:
    first, second = translation.tensor(node.args[0]), translation.tensor(node.args[1])
    alpha = argument(node, 2, "alpha", 1)
    if alpha != 1:
        if not isinstance(node.args[1], fx.Node):
            second = translation.tensor(float(node.args[1]) * float(alpha))  # type: ignore[arg-type]
        else:
            scaled = translation.like(second, second.sizes)
            second = translation.binary("Multiply", second, translation.tensor(alpha), scaled)
    return translation.binary(_KINDS[node.target], first, second, translation.result(node))  # type: ignore[index]


@rule(aten.rsub.Scalar, why_not=_why_not)
def _reversed_subtract(translation: Translation, node: fx.Node) -> Tensor:
    subtrahend = translation.tensor(node.args[0])
    alpha = argument(node, 2, "alpha", 1)
    if alpha != 1:
        scaled = translation.like(subtrahend, subtrahend.sizes)
        subtrahend = translation.binary("Multiply", subtrahend, translation.tensor(alpha), scaled)
    minuend = translation.tensor(node.args[1])
    return translation.binary("Subtract", minuend, subtrahend, translation.result(node))


@rule(aten.reciprocal.default)
def _reciprocal(translation: Translation, node: fx.Node) -> Tensor:
    source = translation.tensor(node.args[0])
    return translation.binary("Div", translation.tensor(1.0), source, translation.result(node))


def _why_not_prelu(node: fx.Node, context: Context) -> str | None:
    if not context.is_constant(node.args[1]):
        return "its slopes are no parameter: XNNPACK wants them constant"
    rank = node.meta["val"].dim()
    slopes = context.constants[node.args[1]].numel()  # type: ignore[index]
    if slopes > 1 and rank not in (2, 3, 4):
        return f"its input has {rank} dimensions, a slope per channel works on 2 to 4"
    return None


@rule(aten.prelu.default, why_not=_why_not_prelu, is_kept=True)
def _prelu(translation: Translation, node: fx.Node) -> Tensor:
    """Slopes (1,) or (channels,), which lie innermost."""
    source = translation.tensor(node.args[0])
    slopes = translation.constants[node.args[1]].reshape(-1)  # type: ignore[index]
    is_single = slopes.numel() == 1
    return translation.emit(
        "PReLU",
        {"input1_id": source, "input2_id": translation.constant(slopes)},
        translation.result(node),
        layout=Layout.ANY if is_single else Layout.CHANNELS_LAST,
        fixed_inputs=("input2_id",),
    )


@rule(aten.glu.default, why_not=lambda node, context: _why_not_glu(node))
def _glu(translation: Translation, node: fx.Node) -> Tensor:
    """The first half times the sigmoid of the second."""
    source = translation.tensor(node.args[0])
    dim = argument(node, 1, "dim", -1) % source.rank
    half = source.sizes[dim] // 2
    first = moves.slice(translation, source, dim, 0, half)
    second = moves.slice(translation, source, dim, half, half)
    gate = translation.unary("Sigmoid", second, translation.like(second, second.sizes))
    return translation.binary("Multiply", first, gate, translation.result(node))


def _why_not_glu(node: fx.Node) -> str | None:
    source = node.all_input_nodes[0].meta["val"]
    dim = argument(node, 1, "dim", -1)
    if not isinstance(source.shape[dim], int):
        return f"it halves dimension {dim}, whose size varies: export it with a fixed size"
    return None
