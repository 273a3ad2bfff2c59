"""Largest elements and averages of windows."""

from typing import Any

import torch

from etlab.backends.arm.builder import Operand, Tensor
from etlab.backends.arm.format import operators as tosa
from etlab.backends.arm.format.operators import DType
from etlab.backends.arm.lowering import ELEMENTS, Lowering, Value
from etlab.backends.arm.operators.activation import why_not_rescaled
from etlab.backends.arm.operators.registry import rule
from etlab.backends.arm.quantized import Operation, argument

aten = torch.ops.aten
_LAST = (0, 2, 3, 1)


def _windows(operation: Operation) -> tuple[list[int], list[int], list[int]]:
    """Kernel, stride and padding, two each."""
    node: Any = operation.node
    kernel = _two(node.args[1])
    stride = _two(argument(node, 2, "stride") or kernel)
    return kernel, stride, _two(argument(node, 3, "padding") or 0)


def _two(value: Any) -> list[int]:
    given = [value] if isinstance(value, int) else list(value)
    return given * (2 // len(given))


def _why_not_pictures(operation: Operation) -> str | None:
    if operation.node.args[0].meta["val"].dim() != 4:  # type: ignore[union-attr]
        return "its input is no batch of pictures, which TOSA pools"
    return why_not_rescaled(operation)


def _why_not_max(operation: Operation) -> str | None:
    dilation = argument(operation.node, 4, "dilation") or 1
    if any(one != 1 for one in _two(dilation)):
        return "it is dilated, which TOSA's pooling is not"
    return _why_not_pictures(operation)


@rule(aten.max_pool2d_with_indices.default, why_not=_why_not_max)
def _max(lowering: Lowering, operation: Operation) -> Value:
    """Padding never wins."""
    x = lowering.arranged(lowering.source(operation), _LAST)
    kernel, stride, padding = _windows(operation)
    x, pads, shape = _fitted(lowering, operation, x, kernel, stride, padding)
    attributes = tosa.MaxPool2d(tuple(kernel), tuple(stride), tuple(pads), nan_mode=1)
    pooled = lowering.graph.emit(attributes, [x], shape, name=f"{operation.node.name}_pooled")
    return Value(lowering.moved(operation, pooled), _LAST)


def _why_not_average(operation: Operation) -> str | None:
    if argument(operation.node, 6, "divisor_override") is not None:
        return "it has a divisor of its own, which TOSA's pooling has not"
    if argument(operation.node, 4, "ceil_mode", False):
        return "it rounds its size up (ceil_mode), where TOSA's windows would count other elements"
    return _why_not_pictures(operation)


@rule(aten.avg_pool2d.default, why_not=_why_not_average)
def _average(lowering: Lowering, operation: Operation) -> Value:
    """Rounded to the input's scale first, then to the result's."""
    x = lowering.arranged(lowering.source(operation), _LAST)
    kernel, stride, padding = _windows(operation)
    scale = operation.scales[0]
    if any(padding) and argument(operation.node, 5, "count_include_pad", True):
        x, padding = _padded(lowering, x, padding, scale.zero_point), [0, 0]
    x, pads, shape = _fitted(lowering, operation, x, kernel, stride, padding)
    attributes = tosa.AvgPool2d(tuple(kernel), tuple(stride), tuple(pads), DType.INT32)
    zero = lowering.graph.zero_point(scale.zero_point, ELEMENTS[scale.dtype])
    name = f"{operation.node.name}_pooled"
    pooled = lowering.graph.emit(attributes, [x, zero, zero], shape, name=name)
    return Value(lowering.moved(operation, pooled), _LAST)


def _padded(lowering: Lowering, x: Tensor, padding: list[int], value: int) -> Tensor:
    graph = lowering.graph
    amounts = [0, 0, padding[0], padding[0], padding[1], padding[1], 0, 0]
    shape = (x.shape[0], x.shape[1] + 2 * padding[0], x.shape[2] + 2 * padding[1], x.shape[3])
    filled = graph.constant([value], x.dtype, name="padding")
    inputs: list[Operand] = [x, graph.sizes(amounts), filled]
    return graph.emit(tosa.Pad(), inputs, shape, name=f"{x.name}_padded")


def _fitted(
    lowering: Lowering,
    operation: Operation,
    x: Tensor,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
) -> tuple[Tensor, list[int], tuple[int, ...]]:
    """The input without what no window reaches, padding that windows fill, and the result's shape.

    A window that hangs over the edge (ceil_mode) gets padding behind.
    """
    sizes = operation.node.meta["val"]
    sizes = (sizes[0] if isinstance(sizes, tuple | list) else sizes).shape[2:]
    pads: list[int] = []
    for axis in range(2):
        reached = (sizes[axis] - 1) * stride[axis] + kernel[axis]
        after = reached - padding[axis] - x.shape[1 + axis]
        if after < 0:
            begin = [0, 0, 0, 0]
            shape = [s + after if dim == 1 + axis else s for dim, s in enumerate(x.shape)]
            cut: list[Operand] = [x, lowering.graph.sizes(begin), lowering.graph.sizes(shape)]
            x = lowering.graph.emit(tosa.Slice(), cut, shape, name=f"{x.name}_part")
            after = 0
        pads += [padding[axis], after]
    return x, pads, (x.shape[0], *sizes, x.shape[3])
