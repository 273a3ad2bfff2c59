"""Limits, where no operator before takes them along, and changes of scale."""

import torch

from etlab.backends.arm.lowering import Lowering, Value
from etlab.backends.arm.operators.registry import rule
from etlab.backends.arm.quantized import LIMITS, QUANTIZE, Operation, limits_of
from etlab.backends.arm.scaling import can_rescale

aten = torch.ops.aten


def why_not_rescaled(operation: Operation) -> str | None:
    """Whether integers of the first input's scale can become such of the result's."""
    scale, result = operation.scales[0], operation.result
    low, high = LIMITS[scale.dtype]
    bound = max(scale.zero_point - low, high - scale.zero_point)
    if not can_rescale(scale.scale / result.scale, bound):
        return "the scales of its input and its result are too far apart"
    return None


def _why_not_limits(operation: Operation) -> str | None:
    if any(argument not in (None, *operation.sources) and not isinstance(argument, int | float)
           for argument in operation.node.args):  # fmt: skip
        return "its limits are tensors"
    return why_not_rescaled(operation)


@rule(aten.relu.default, aten.hardtanh.default, aten.clamp.default, why_not=_why_not_limits)
def _limits(lowering: Lowering, operation: Operation) -> Value:
    """The result's scale, then limits in it."""
    value = lowering.source(operation)
    tensor = lowering.moved(operation, value.tensor)
    limits = limits_of(operation.node, operation.result)
    if limits != LIMITS[operation.result.dtype]:
        tensor = lowering.graph.clamp(tensor, *limits, name=f"{operation.quantize.name}_limited")
    return Value(tensor, value.order)


@rule(QUANTIZE, why_not=why_not_rescaled, moves_only=True)
def _requantize(lowering: Lowering, operation: Operation) -> Value:
    """Another scale for the same numbers."""
    value = lowering.source(operation)
    return Value(lowering.moved(operation, value.tensor), value.order)
