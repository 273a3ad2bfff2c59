"""Operators on the elements of one tensor."""

import math
from typing import Any

import torch
from torch import fx

from etlab.backends.xnnpack.operators.registry import Context, Translate, argument, rule
from etlab.backends.xnnpack.steps import Tensor
from etlab.backends.xnnpack.translate import Translation

aten = torch.ops.aten


def _plainly(kind: str) -> Translate:
    """A rule that is one node without options."""

    def translate(translation: Translation, node: fx.Node) -> Tensor:
        source = translation.tensor(node.args[0])
        return translation.unary(kind, source, translation.result(node))

    return translate


for _target, _kind in {
    aten.abs.default: "Abs",
    aten.ceil.default: "Ceiling",
    aten.cos.default: "Cos",
    aten.exp.default: "Exp",
    aten.floor.default: "Floor",
    aten.log.default: "Log",
    aten.neg.default: "Negate",
    aten.rsqrt.default: "ReciprocalSquareRoot",
    aten.sigmoid.default: "Sigmoid",
    aten.sin.default: "Sin",
    aten.sqrt.default: "SquareRoot",
    aten.tanh.default: "Tanh",
}.items():
    rule(_target)(_plainly(_kind))

rule(aten.hardswish.default, is_kept=True)(_plainly("Hardswish"))


def _why_not_gelu(node: fx.Node, context: Context) -> str | None:
    if node.meta["val"].dtype is torch.float16:
        return "XNNPACK has no GELU in float16: compute it in float32"
    return None


@rule(aten.gelu.default, why_not=_why_not_gelu)
def _gelu(translation: Translation, node: fx.Node) -> Tensor:
    """The payload's GELU is the exact one; the tanh form is spelled out.

    `x / 2 * (1 + tanh(x * (k + 0.044715 * k * x ** 2)))` with `k = sqrt(2 / pi)`
    """
    source, result = translation.tensor(node.args[0]), translation.result(node)
    if argument(node, 1, "approximate", "none") == "none":
        return translation.unary("Gelu", source, result)

    def compute(kind: str, first: Tensor, second: Tensor | float | None = None) -> Tensor:
        output = translation.like(source, source.sizes)
        if second is None:
            return translation.unary(kind, first, output)
        operand = second if isinstance(second, Tensor) else translation.tensor(second)
        return translation.binary(kind, first, operand, output)

    scale = math.sqrt(2 / math.pi)
    inner = compute("Multiply", compute("Square", source), 0.044715 * scale)
    inner = compute("Multiply", compute("Add", inner, scale), source)
    gate = compute("Add", compute("Tanh", inner), 1.0)
    return translation.binary("Multiply", compute("Multiply", source, 0.5), gate, result)


def _limits(node: fx.Node) -> tuple[float, float]:
    """The range that a clamp, ReLU or hardtanh limits to."""
    if node.target is aten.relu.default:
        return 0.0, float("inf")
    lowest, highest = argument(node, 1, "min"), argument(node, 2, "max")
    if node.target is aten.hardtanh.default:
        lowest = argument(node, 1, "min_val", -1.0)
        highest = argument(node, 2, "max_val", 1.0)
    low = float("-inf") if lowest is None else float(lowest)
    return low, float("inf") if highest is None else float(highest)


def _why_not_clamp(node: fx.Node, context: Context) -> str | None:
    numbers = [argument(node, 1, "min"), argument(node, 2, "max")]
    if any(not isinstance(number, int | float | None) for number in numbers):
        return "its limits are known only at run time: make them constants"
    low, high = _limits(node)
    if not low < high:
        return f"its range {low:g} to {high:g} is empty, XNNPACK wants min below max"
    return None


@rule(aten.relu.default, aten.hardtanh.default, aten.clamp.default, why_not=_why_not_clamp)
def _clamp(translation: Translation, node: fx.Node) -> Tensor:
    source: Any = node.args[0]
    limits = _limits(node)
    limited = translation.try_limit(source, *limits)
    if limited is not None:
        return limited
    tensor, result = translation.tensor(source), translation.result(node)
    if node in translation.plan.fused:  # the operator before gave integers with the final scale
        result = translation.like(tensor, tensor.sizes)
    return translation.unary("Clamp", tensor, result, limits=limits)


@rule(aten.leaky_relu.default)
def _leaky_relu(translation: Translation, node: fx.Node) -> Tensor:
    slope = float(argument(node, 1, "negative_slope", 0.01))
    source, result = translation.tensor(node.args[0]), translation.result(node)
    return translation.unary("LeakyReLU", source, result, fields={"negative_slope": slope})


def _why_not_elu(node: fx.Node, context: Context) -> str | None:
    if argument(node, 2, "scale", 1) != 1 or argument(node, 3, "input_scale", 1) != 1:
        return "it is a scaled ELU (SELU or CELU), XNNPACK's has only alpha"
    return None


@rule(aten.elu.default, why_not=_why_not_elu)
def _elu(translation: Translation, node: fx.Node) -> Tensor:
    alpha = float(argument(node, 1, "alpha", 1.0))
    source, result = translation.tensor(node.args[0]), translation.result(node)
    return translation.unary("ELU", source, result, fields={"alpha": alpha})


def _why_not_power(node: fx.Node, context: Context) -> str | None:
    if node.args[1] not in (2, 3):
        return f"its exponent is {node.args[1]}, XNNPACK has squares and cubes only"
    return None


@rule(aten.pow.Tensor_Scalar, why_not=_why_not_power)
def _power(translation: Translation, node: fx.Node) -> Tensor:
    source, result = translation.tensor(node.args[0]), translation.result(node)
    if node.args[1] == 2:
        return translation.unary("Square", source, result)
    square = translation.unary("Square", source, translation.like(source, source.sizes))
    return translation.binary("Multiply", square, source, result)


def _why_not_copy(node: fx.Node, context: Context) -> str | None:
    source: Any = node.args[0]
    given, wanted = source.meta["val"].dtype, node.meta["val"].dtype
    if given is not wanted and torch.bfloat16 in (given, wanted):
        return f"XNNPACK does not convert {given} to {wanted}"
    return None


@rule(
    aten._to_copy.default,
    aten.alias_copy.default,
    aten.clone.default,
    aten.detach_copy.default,
    aten.lift_fresh_copy.default,
    why_not=_why_not_copy,
    moves_only=True,
)
def _copy(translation: Translation, node: fx.Node) -> Tensor:
    source, result = translation.tensor(node.args[0]), translation.result(node)
    if source.datatype == result.datatype:
        return source
    return translation.unary("Convert", source, result)
