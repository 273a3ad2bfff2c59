"""Products of two activations: batches of matrices."""

import torch

from etlab.backends.arm.builder import Operand, Tensor
from etlab.backends.arm.format import operators as tosa
from etlab.backends.arm.format.operators import DType
from etlab.backends.arm.lowering import Lowering, Value
from etlab.backends.arm.operators.registry import rule
from etlab.backends.arm.quantized import LIMITS, Operation, Scale
from etlab.backends.arm.scaling import can_rescale

aten = torch.ops.aten


def _ratio(operation: Operation) -> float:
    return operation.scales[0].scale * operation.scales[-1].scale / operation.result.scale


def _why_not(operation: Operation) -> str | None:
    if any(scale.dtype is not torch.int8 for scale in (*operation.scales, operation.result)):
        return "its operands or result have 16 bits: quantize with int8-arm"
    if operation.numbers:
        return "one of its operands is a number"
    bound = int(operation.sources[0].meta["val"].shape[-1])
    low, high = LIMITS[torch.int8]
    for scale in (operation.scales[0], operation.scales[-1]):
        bound *= max(scale.zero_point - low, high - scale.zero_point)
    if bound >= 2**31 or not can_rescale(_ratio(operation), bound):
        return "its sums, or their scale against its result's, do not fit into 32 bits"
    return None


@rule(aten.bmm.default, aten.mm.default, why_not=_why_not)
def _matrices(lowering: Lowering, operation: Operation) -> Value:
    """(batch, rows, inner) by (batch, inner, columns); exact sums, scaled once."""
    graph, name = lowering.graph, operation.node.name
    left, right = (
        _batch(lowering, lowering.value(source))  # type: ignore[arg-type]
        for source in operation.node.args[:2]
    )
    zeros = (graph.zero_point(s.zero_point, DType.INT8) for s in _both(operation))
    shape = (*left.shape[:2], right.shape[2])
    inputs: list[Operand] = [left, right, *zeros]
    sums = graph.emit(tosa.MatMul(), inputs, shape, DType.INT32, name=f"{name}_sums")
    result = lowering.rescaled(operation, sums, [_ratio(operation)])
    sizes = operation.node.meta["val"].shape
    return Value(graph.reshape(result, sizes), tuple(range(len(sizes))))


def _both(operation: Operation) -> list[Scale]:
    return [operation.scales[0], operation.scales[-1]]


def _batch(lowering: Lowering, value: Value) -> Tensor:
    """A batch of matrices; a single matrix is a batch of one."""
    plain = lowering.plain(value)
    return lowering.graph.reshape(plain, (1,) * (3 - len(plain.shape)) + plain.shape)
