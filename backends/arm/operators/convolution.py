"""Convolutions: of pictures and sequences, depthwise, in groups, transposed; linear layers."""

from collections.abc import Sequence
from typing import Any

import torch

from etlab.backends.arm.builder import Operand, Tensor
from etlab.backends.arm.format import operators as tosa
from etlab.backends.arm.format.operators import DType
from etlab.backends.arm.lowering import Lowering, Value
from etlab.backends.arm.operators.registry import rule
from etlab.backends.arm.quantized import LIMITS, Operation
from etlab.backends.arm.scaling import can_rescale

aten = torch.ops.aten

_SUMS, _WIDE_SUMS = 31, 47  # bits of sums without their sign, of activations of 8 and of 16 bits


def _why_not_product(operation: Operation) -> str | None:
    """Whether sums and their scaling stay within 32 bits."""
    weight, source = operation.weight, operation.scales[0]
    assert weight is not None
    if source.dtype is not operation.result.dtype:
        return "its input and its result mix integers of 8 and 16 bits"
    is_wide = source.dtype is torch.int16
    axis = _output_axis(operation)
    if len(weight.scales) > 1 and weight.axis != axis:
        return "its weight's scales are not those of output channels"
    others = [dim for dim in range(weight.elements.dim()) if dim != axis]
    low, high = (abs(limit - source.zero_point) for limit in LIMITS[source.dtype])
    bounds = weight.elements.long().abs().sum(others) * max(low, high)
    steps = weight.scales.double() * source.scale
    if operation.bias is not None:
        whole = (operation.bias.double() / steps).abs()
        if bool((whole >= 2 ** (_WIDE_SUMS if is_wide else _SUMS)).any()):
            return "its bias does not fit into the integers of its input's and weight's scales"
        bounds = bounds + whole.long()
    ratios = (steps / operation.result.scale).expand(len(bounds))
    pairs = zip(ratios.tolist(), bounds.tolist(), strict=True)
    if is_wide:
        fits = int(bounds.max()) < 2**_WIDE_SUMS and all(r * b < 2**31 for r, b in pairs)
    else:
        fits = int(bounds.max()) < 2**_SUMS and all(can_rescale(*pair) for pair in pairs)
    if not fits:
        return "its sums, or their scale against its result's, do not fit into 32 bits"
    return None


def _sums_of(operation: Operation) -> DType:
    """The type of the sums: 48 bits where activations have 16."""
    return DType.INT32 if operation.scales[0].dtype is torch.int8 else DType.INT48


def _output_axis(operation: Operation) -> int:
    """The dimension of a weight that output channels are."""
    is_transposed = operation.node.target is aten.convolution.default and operation.node.args[6]
    return 1 if is_transposed else 0


def _why_not_convolution(operation: Operation) -> str | None:
    node: Any = operation.node
    dilation, is_transposed, _, groups = node.args[5:9]
    rank = node.meta["val"].dim()
    if rank not in (3, 4):
        return f"its input has {rank} dimensions, TOSA convolves in 1 or 2 of 3 or 4"
    if is_transposed and (groups != 1 or any(one != 1 for one in dilation)):
        return "it is transposed with groups or dilation, which TOSA has not"
    if is_transposed and rank == 3:
        return "it is transposed and of sequences: give it a height of 1"
    return _why_not_product(operation)


@rule(aten.convolution.default, why_not=_why_not_convolution)
def _convolution(lowering: Lowering, operation: Operation) -> Value:
    """Weights (out, in / groups, ...), transposed (in, out, ...)."""
    node: Any = operation.node
    weight = operation.weight
    assert weight is not None
    is_sequence = node.meta["val"].dim() == 3
    order = (0, 2, 1) if is_sequence else (0, 2, 3, 1)
    value, zeros = lowering.source(operation), [(0, 0)] * 2
    elements = weight.elements
    if not node.args[6]:
        value, zeros = _absorbed(lowering, operation, value)
    x = lowering.arranged(value, order)
    if is_sequence:
        x = lowering.graph.reshape(x, (x.shape[0], 1, *x.shape[1:]))
        elements = elements.unsqueeze(2)
    if node.args[6]:
        result = _transposed(lowering, operation, x)
    else:
        result = _windows(lowering, operation, x, elements, zeros)
    if is_sequence:
        result = lowering.graph.reshape(result, (result.shape[0], *result.shape[2:]))
    return Value(result, order)


@rule(aten.linear.default, why_not=_why_not_product)
def _linear(lowering: Lowering, operation: Operation) -> Value:
    """A convolution of one column, a row of the input each, with a window of one element."""
    weight = operation.weight
    assert weight is not None
    x = lowering.plain(lowering.source(operation))
    rows = 1
    for size in x.shape[:-1]:
        rows *= size
    picture = lowering.graph.reshape(x, (1, rows, 1, x.shape[-1]))
    kernel = weight.elements.reshape(len(weight.elements), 1, 1, -1)
    attributes = tosa.Conv2d((0, 0, 0, 0), (1, 1), (1, 1), False, _sums_of(operation))
    sums = _emit(lowering, operation, attributes, picture, kernel, (1, rows, 1, len(kernel)))
    result = _scaled(lowering, operation, sums)
    shape = (*x.shape[:-1], len(kernel))
    return Value(lowering.graph.reshape(result, shape), tuple(range(len(shape))))


def _absorbed(
    lowering: Lowering, operation: Operation, value: Value
) -> tuple[Value, list[tuple[int, int]]]:
    """The input without zeros that windows can bring along, and these above, below and beside."""
    node: Any = operation.node
    weight = operation.weight
    assert weight is not None
    source, sides = lowering.without_padding(value)
    spatial = list(sides[2:])
    dilation = list(node.args[5]) * (len(spatial) // len(node.args[5]))
    reach = [
        (size - 1) * step for size, step in zip(weight.elements.shape[2:], dilation, strict=True)
    ]
    fits = all(max(side) <= most for side, most in zip(spatial, reach, strict=True))
    if not fits or any(side != (0, 0) for side in sides[:2]):
        return value, [(0, 0)] * 2
    return source, [*[(0, 0)] * (2 - len(spatial)), *spatial]


def _windows(
    lowering: Lowering,
    operation: Operation,
    x: Tensor,
    elements: torch.Tensor,
    zeros: Sequence[tuple[int, int]],
) -> Tensor:
    """A convolution; (N, H, W, out) in the result's scale. `zeros` go around its input besides."""
    node: Any = operation.node
    stride, padding, dilation = (_pair(node.args[place], missing) for place, missing in
                                 ((3, 1), (4, 0), (5, 1)))  # fmt: skip
    groups = node.args[8]
    pads: list[int] = []
    sizes = []
    for axis in range(2):
        reach = (elements.shape[2 + axis] - 1) * dilation[axis]
        before, after = (padding[axis] + amount for amount in zeros[axis])
        span = x.shape[1 + axis] - 1 + before + after - reach
        after -= span % stride[axis]
        if after < 0:  # rows that no window reaches
            x = _without_last(lowering, x, 1 + axis, -after)
            after = 0
        pads += [before, after]
        sizes.append(span // stride[axis] + 1)
    shape = (x.shape[0], *sizes, len(elements))
    fields = (tuple(pads), tuple(stride), tuple(dilation), False, _sums_of(operation))
    if groups == 1:
        kernel = elements.permute(0, 2, 3, 1)
        sums = _emit(lowering, operation, tosa.Conv2d(*fields), x, kernel, shape)
        return _scaled(lowering, operation, sums)
    if elements.shape[1] == 1:
        multiplier = len(elements) // groups
        split = elements.reshape(groups, multiplier, *elements.shape[2:])
        kernel = split.permute(2, 3, 0, 1)
        sums = _emit(lowering, operation, tosa.DepthwiseConv2d(*fields), x, kernel, shape)
        return _scaled(lowering, operation, sums)
    parts = []
    inside, outside = elements.shape[1], len(elements) // groups
    for group in range(groups):
        part = _channels(lowering, x, group * inside, inside)
        place = slice(group * outside, (group + 1) * outside)
        kernel = elements[place].permute(0, 2, 3, 1)
        own = (*shape[:3], outside)
        sums = _emit(lowering, operation, tosa.Conv2d(*fields), part, kernel, own, place)
        parts.append(_scaled(lowering, operation, sums, place))
    return lowering.graph.emit(tosa.Concat(3), parts, shape, name=f"{node.name}_groups")


def _transposed(lowering: Lowering, operation: Operation, x: Tensor) -> Tensor:
    """A transposed convolution; (N, H, W, out) in the result's scale."""
    node: Any = operation.node
    weight = operation.weight
    assert weight is not None
    stride, padding, extra = node.args[3], _pair(node.args[4], 0), _pair(node.args[7], 0)
    kernel = weight.elements.permute(1, 2, 3, 0)
    pads = [side for axis in range(2) for side in (-padding[axis], extra[axis] - padding[axis])]
    batch, channels, *sizes = node.meta["val"].shape
    fields = (tuple(pads), tuple(_pair(stride, 1)), False, _sums_of(operation))
    shape = (batch, *sizes, channels)
    sums = _emit(lowering, operation, tosa.TransposeConv2d(*fields), x, kernel, shape)
    return _scaled(lowering, operation, sums)


def _emit(
    lowering: Lowering,
    operation: Operation,
    attributes: Any,
    x: Tensor,
    kernel: torch.Tensor,
    shape: tuple[int, ...],
    place: slice = slice(None),
) -> Tensor:
    """The sums of a product; `place` are its channels among those of the bias."""
    graph, name = lowering.graph, operation.node.name
    bias = integer_bias(operation)[place]
    inputs: list[Operand] = [
        x,
        graph.constant(kernel.numpy(), DType.INT8, name=f"{name}_weight"),
        graph.constant(bias.numpy(), _sums_of(operation), name=f"{name}_bias"),
        graph.zero_point(operation.scales[0].zero_point, x.dtype),
        graph.zero_point(0, DType.INT8),
    ]
    return graph.emit(attributes, inputs, shape, _sums_of(operation), name=f"{name}_sums")


def integer_bias(operation: Operation) -> torch.Tensor:
    """The bias in steps of the input's times the weight's scale, rounded half to even; int64."""
    weight = operation.weight
    assert weight is not None
    channels = weight.elements.shape[_output_axis(operation)]
    if operation.bias is None:
        return torch.zeros(channels, dtype=torch.int64)
    steps = weight.scales.double() * operation.scales[0].scale
    return torch.round(operation.bias.double() / steps).long()


def _scaled(
    lowering: Lowering, operation: Operation, sums: Tensor, place: slice = slice(None)
) -> Tensor:
    """Sums in the result's scale; `place` are their channels among all."""
    weight = operation.weight
    assert weight is not None
    scales = weight.scales if len(weight.scales) == 1 else weight.scales[place]
    ratios = scales.double() * operation.scales[0].scale / operation.result.scale
    return lowering.rescaled(operation, sums, ratios.tolist())


def _without_last(lowering: Lowering, x: Tensor, axis: int, count: int) -> Tensor:
    shape = [size - count if dim == axis else size for dim, size in enumerate(x.shape)]
    return _cut(lowering, x, [0] * len(shape), shape)


def _channels(lowering: Lowering, x: Tensor, begin: int, count: int) -> Tensor:
    return _cut(lowering, x, [0, 0, 0, begin], [*x.shape[:3], count])


def _cut(lowering: Lowering, x: Tensor, begin: list[int], shape: list[int]) -> Tensor:
    graph = lowering.graph
    inputs: list[Operand] = [x, graph.sizes(begin), graph.sizes(shape)]
    return graph.emit(tosa.Slice(), inputs, shape, name=f"{x.name}_part")


def _pair(values: Any, missing: int) -> list[int]:
    """Height and width; of a sequence only the width is given."""
    given = list(values)
    return given if len(given) == 2 else [missing, given[0]]
