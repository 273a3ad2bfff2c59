"""Sums, differences, products, and the larger or smaller of two."""

from typing import Any

import torch

from etlab.backends.arm.builder import Tensor
from etlab.backends.arm.format import operators as tosa
from etlab.backends.arm.format.operators import DType
from etlab.backends.arm.lowering import Lowering, Value, widened
from etlab.backends.arm.operators.registry import rule
from etlab.backends.arm.operators.table import table, why_not_table
from etlab.backends.arm.quantized import LIMITS, Operation, argument
from etlab.backends.arm.scaling import can_rescale

aten = torch.ops.aten

# Operands of a sum become 32-bit integers with so many bits behind the point, less one for the sum;
# sums of 16-bit integers leave less room.
_BITS = {torch.int8: 20, torch.int16: 12}


def _bound(operation: Operation, index: int) -> int:
    """The largest integer of an operand without its zero point."""
    scale = operation.scales[index]
    low, high = LIMITS[scale.dtype]
    return max(scale.zero_point - low, high - scale.zero_point)


def _why_not_two(operation: Operation) -> str | None:
    node = operation.node
    if argument(node, 2, "alpha", 1) != 1:
        return "its alpha is not 1"
    if len({scale.dtype for scale in (*operation.scales, operation.result)}) > 1:
        return "its operands and result mix integers of 8 and 16 bits"
    return None


def _step(operation: Operation) -> float:
    """What one step of a sum's wide integers stands for."""
    largest = max(scale.scale for scale in operation.scales)
    return 2 * largest / (1 << _BITS[operation.result.dtype])


def _why_not_sum(operation: Operation) -> str | None:
    if operation.numbers:
        return why_not_table(operation)
    if reason := _why_not_two(operation):
        return reason
    step = _step(operation)
    ratios = [scale.scale / step for scale in operation.scales]
    bounds = [_bound(operation, index) for index in range(len(ratios))]
    fits = all(map(can_rescale, ratios, bounds))
    total = sum(ratio * bound for ratio, bound in zip(ratios, bounds, strict=True)) * 2
    if not fits or not can_rescale(step / operation.result.scale, int(total)):
        return "the scales of its operands and its result are too far apart"
    return None


@rule(aten.add.Tensor, aten.sub.Tensor, why_not=_why_not_sum)
def _sum(lowering: Lowering, operation: Operation) -> Value:
    """Both operands in steps of a common scale, then one scaling."""
    if operation.numbers:
        return table(lowering, operation)
    step = _step(operation)
    wide, order = _wide(lowering, operation, [s.scale / step for s in operation.scales])
    kind = tosa.Sub() if operation.node.target is aten.sub.Tensor else tosa.Add()
    total = _emit(lowering, operation, kind, wide)
    return Value(lowering.rescaled(operation, total, [step / operation.result.scale]), order)


def _why_not_product(operation: Operation) -> str | None:
    if operation.numbers:
        return why_not_table(operation)
    if reason := _why_not_two(operation):
        return reason
    bound = _bound(operation, 0) * _bound(operation, len(operation.scales) - 1)
    if bound >= 2**31 or not can_rescale(_product_ratio(operation), bound):
        return "the scales of its operands and its result are too far apart"
    return None


def _product_ratio(operation: Operation) -> float:
    return operation.scales[0].scale * operation.scales[-1].scale / operation.result.scale


@rule(aten.mul.Tensor, why_not=_why_not_product)
def _product(lowering: Lowering, operation: Operation) -> Value:
    """The exact product, scaled once."""
    if operation.numbers:
        return table(lowering, operation)
    wide, order = _wide(lowering, operation, [1.0] * len(operation.scales))
    product = _emit(lowering, operation, tosa.Mul(), wide)
    return Value(lowering.rescaled(operation, product, [_product_ratio(operation)]), order)


def _wide(
    lowering: Lowering, operation: Operation, ratios: list[float]
) -> tuple[list[Tensor], tuple[int, ...]]:
    """Both operands as int32 in a common order of dimensions, of as many dimensions."""
    node: Any = operation.node
    rank = node.meta["val"].dim()
    values = [lowering.value(source) for source in node.args[:2]]
    whole = [value.order for value in values if len(value.order) == rank]
    order = next((one for one in whole if one != tuple(range(rank))), tuple(range(rank)))
    wide: list[Tensor] = []
    for value, source in zip(values, node.args[:2], strict=True):
        index = operation.sources.index(source)
        if len(value.order) < rank:
            plain = lowering.plain(value)
            shape = (1,) * (rank - len(plain.shape)) + plain.shape
            value = Value(lowering.graph.reshape(plain, shape), tuple(range(rank)))
        tensor = lowering.arranged(value, order)
        name = f"{node.name}_input_{len(wide)}"
        if wide and source is node.args[0]:
            wide.append(wide[0])
            break
        scale = operation.scales[index]
        wide.append(widened(lowering, tensor, scale, ratios[index], name))
    return wide, order


def _emit(lowering: Lowering, operation: Operation, kind: object, wide: list[Tensor]) -> Tensor:
    graph, name = lowering.graph, f"{operation.node.name}_wide"
    pairs = zip(wide[0].shape, wide[1].shape, strict=True)
    shape = [right if left == 1 else left for left, right in pairs]
    inputs: list[Tensor | str] = [*wide]
    if isinstance(kind, tosa.Mul):
        inputs.append(graph.constant([0], DType.INT8, name="no_shift"))
    return graph.emit(kind, inputs, shape, DType.INT32, name=name)


@rule(aten.maximum.default, aten.minimum.default, why_not=_why_not_sum)
def _extremum(lowering: Lowering, operation: Operation) -> Value:
    """As a sum: both in a common scale."""
    step = _step(operation)
    wide, order = _wide(lowering, operation, [s.scale / step for s in operation.scales])
    is_maximum = operation.node.target is aten.maximum.default
    kind = tosa.Maximum(nan_mode=1) if is_maximum else tosa.Minimum(nan_mode=1)
    found = _emit(lowering, operation, kind, wide)
    return Value(lowering.rescaled(operation, found, [step / operation.result.scale]), order)
