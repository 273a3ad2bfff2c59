"""Means and sums along dimensions: exact sums of integers, scaled once."""

import math
from typing import Any

import numpy as np
import torch

from etlab.backends.arm.builder import Tensor
from etlab.backends.arm.format import operators as tosa
from etlab.backends.arm.format.operators import DType
from etlab.backends.arm.lowering import Lowering, Value, widened
from etlab.backends.arm.operators.registry import rule
from etlab.backends.arm.quantized import LIMITS, Operation, argument
from etlab.backends.arm.scaling import can_rescale

aten = torch.ops.aten

# The largest window of a depthwise convolution that Ethos-U has: 64 rows, 4096 elements.
_ROWS, _WINDOW = 64, 4096


def _dims(operation: Operation) -> list[int]:
    """The dimensions that go, counted from the front."""
    rank = operation.sources[0].meta["val"].dim()
    given: Any = argument(operation.node, 1, "dim")
    listed = [given] if isinstance(given, int) else list(given or range(rank))
    return sorted({dim % rank for dim in listed})


def _count(operation: Operation) -> int:
    sizes = operation.sources[0].meta["val"].shape
    return math.prod(sizes[dim] for dim in _dims(operation))


def _ratio(operation: Operation) -> float:
    count = _count(operation) if "mean" in str(operation.node.target) else 1
    return operation.scales[0].scale / operation.result.scale / count


def _why_not(operation: Operation) -> str | None:
    scale = operation.scales[0]
    low, high = LIMITS[scale.dtype]
    bound = max(scale.zero_point - low, high - scale.zero_point) * _count(operation)
    if bound >= 2**31 or not can_rescale(_ratio(operation), bound):
        return "its sums, or their scale against its result's, do not fit into 32 bits"
    return None


@rule(aten.mean.dim, aten.sum.dim_IntList, why_not=_why_not)
def _reduced(lowering: Lowering, operation: Operation) -> Value:
    """Over a picture a depthwise convolution of ones, which NPUs are fast at; else sums by axis."""
    value, dims = lowering.source(operation), _dims(operation)
    rank = len(value.order)
    if _is_window(operation, value, dims):
        order: tuple[int, ...] = (0, 2, 3, 1)
        sums = _of_windows(lowering, operation, lowering.arranged(value, order), dims)
    else:
        order = value.order
        sums = _by_axis(lowering, operation, value, dims)
    result = lowering.rescaled(operation, sums, [_ratio(operation)])
    if argument(operation.node, 2, "keepdim", False):
        return Value(result, order)
    shape = tuple(result.shape[place] for place, dim in enumerate(order) if dim not in dims)
    kept = [dim for dim in order if dim not in dims]
    ranks = {dim: place for place, dim in enumerate(sorted(set(range(rank)) - set(dims)))}
    return Value(lowering.graph.reshape(result, shape), tuple(ranks[dim] for dim in kept))


def _is_window(operation: Operation, value: Value, dims: list[int]) -> bool:
    sizes = value.sizes
    if len(sizes) != 4 or not set(dims) <= {2, 3} or operation.scales[0].dtype is not torch.int8:
        return False
    height, width = (sizes[dim] if dim in dims else 1 for dim in (2, 3))
    return height <= _ROWS and width <= _ROWS and height * width <= _WINDOW


def _of_windows(lowering: Lowering, operation: Operation, x: Tensor, dims: list[int]) -> Tensor:
    graph, name = lowering.graph, operation.node.name
    height, width = (x.shape[dim - 1] if dim in dims else 1 for dim in (2, 3))
    ones = np.ones((height, width, x.shape[3], 1))
    inputs = [
        x,
        graph.constant(ones, DType.INT8, name=f"{name}_ones"),
        graph.constant(np.zeros(x.shape[3]), DType.INT32, name=f"{name}_zeros"),
        graph.zero_point(operation.scales[0].zero_point, DType.INT8),
        graph.zero_point(0, DType.INT8),
    ]
    attributes = tosa.DepthwiseConv2d((0, 0, 0, 0), (1, 1), (1, 1), False, DType.INT32)
    shape = (x.shape[0], x.shape[1] // height, x.shape[2] // width, x.shape[3])
    return graph.emit(attributes, inputs, shape, DType.INT32, name=f"{name}_sums")


def _by_axis(lowering: Lowering, operation: Operation, value: Value, dims: list[int]) -> Tensor:
    name = operation.node.name
    sums = widened(lowering, value.tensor, operation.scales[0], 1.0, f"{name}_wide")
    for dim in dims:
        axis = value.order.index(dim)
        shape = [1 if place == axis else size for place, size in enumerate(sums.shape)]
        sums = lowering.graph.emit(tosa.ReduceSum(axis), [sums], shape, name=f"{name}_sums")
    return sums
