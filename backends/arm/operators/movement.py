"""What moves elements and computes none: other shapes, orders, parts, joins, padding."""

from typing import Any

import torch

from etlab.backends.arm.builder import Operand, Tensor
from etlab.backends.arm.format import operators as tosa
from etlab.backends.arm.lowering import ELEMENTS, Lowering, Value
from etlab.backends.arm.operators.activation import why_not_rescaled
from etlab.backends.arm.operators.registry import rule
from etlab.backends.arm.quantized import Operation, argument

aten = torch.ops.aten


def _dim(operation: Operation, index: int, name: str, default: Any = None) -> int:
    """A dimension, counted from the front."""
    given = int(argument(operation.node, index, name, default))
    rank: int = operation.sources[0].meta["val"].dim()
    return given % rank


def _plain(tensor: Tensor) -> Value:
    return Value(tensor, tuple(range(len(tensor.shape))))


@rule(
    aten.view_copy.default,
    aten.unsqueeze_copy.default,
    aten.squeeze_copy.dims,
    why_not=why_not_rescaled,
    moves_only=True,
)
def _reshaped(lowering: Lowering, operation: Operation) -> Value:
    """Another shape, or the same."""
    value = lowering.source(operation)
    shape = operation.node.meta["val"].shape
    if tuple(shape) == value.sizes:
        return Value(lowering.moved(operation, value.tensor), value.order)
    reshaped = lowering.graph.reshape(lowering.plain(value), tuple(shape))
    return _plain(lowering.moved(operation, reshaped))


@rule(
    aten.permute_copy.default,
    aten.transpose_copy.int,
    aten.t_copy.default,
    why_not=why_not_rescaled,
    moves_only=True,
)
def _permuted(lowering: Lowering, operation: Operation) -> Value:
    """Nothing moves: the order is another one."""
    value = lowering.source(operation)
    node: Any = operation.node
    rank = len(value.order)
    dims = list(range(rank))
    if node.target is aten.permute_copy.default:
        dims = [dim % rank for dim in node.args[1]]
    elif node.target is aten.t_copy.default:
        dims.reverse()
    else:
        first, second = (_dim(operation, place, f"dim{place - 1}") for place in (1, 2))
        dims[first], dims[second] = dims[second], dims[first]
    order = tuple(dims.index(dim) for dim in value.order)
    return Value(lowering.moved(operation, value.tensor), order)


@rule(aten.cat.default, moves_only=True)
def _joined(lowering: Lowering, operation: Operation) -> Value:
    """Parts in the result's scale, side by side."""
    listed: Any = operation.node.args[0]
    axis = _dim(operation, 1, "dim", 0)
    first = lowering.value(listed[0])
    parts = []
    for number, source in enumerate(listed):
        scale = operation.scales[operation.sources.index(source)]
        tensor = lowering.arranged(lowering.value(source), first.order)
        if scale != operation.result:
            tensor = lowering.graph.rescale(
                tensor,
                [scale.scale / operation.result.scale],
                zero_point=scale.zero_point,
                result_zero_point=operation.result.zero_point,
                dtype=ELEMENTS[operation.result.dtype],
                name=f"{operation.node.name}_part_{number}",
            )
        parts.append(tensor)
    place = first.order.index(axis)
    shape = list(parts[0].shape)
    shape[place] = sum(part.shape[place] for part in parts)
    name = operation.quantize.name
    return Value(lowering.graph.emit(tosa.Concat(place), parts, shape, name=name), first.order)


def _why_not_slice(operation: Operation) -> str | None:
    if argument(operation.node, 4, "step", 1) != 1:
        return "it skips elements (step), which TOSA's slices do not"
    return why_not_rescaled(operation)


@rule(aten.slice_copy.Tensor, why_not=_why_not_slice, moves_only=True)
def _sliced(lowering: Lowering, operation: Operation) -> Value:
    """A part along one dimension."""
    value = lowering.source(operation)
    dim = _dim(operation, 1, "dim", 0)
    size = value.sizes[dim]
    begin = argument(operation.node, 2, "start") or 0
    begin = min(max(begin + size if begin < 0 else begin, 0), size)
    count = operation.node.meta["val"].shape[dim]
    return Value(lowering.moved(operation, _part(lowering, value, dim, begin, count)), value.order)


@rule(aten.select_copy.int, why_not=why_not_rescaled, moves_only=True)
def _selected(lowering: Lowering, operation: Operation) -> Value:
    """One index of a dimension, which goes."""
    value = lowering.source(operation)
    dim = _dim(operation, 1, "dim")
    index = int(operation.node.args[2])  # type: ignore[arg-type]
    part = _part(lowering, value, dim, index % value.sizes[dim], 1)
    plain = lowering.plain(Value(part, value.order))
    reshaped = lowering.graph.reshape(plain, operation.node.meta["val"].shape)
    return _plain(lowering.moved(operation, reshaped))


def _part(lowering: Lowering, value: Value, dim: int, begin: int, count: int) -> Tensor:
    place, graph = value.order.index(dim), lowering.graph
    starts = [begin if axis == place else 0 for axis in range(len(value.order))]
    shape = [count if axis == place else s for axis, s in enumerate(value.tensor.shape)]
    inputs: list[Operand] = [value.tensor, graph.sizes(starts), graph.sizes(shape)]
    return graph.emit(tosa.Slice(), inputs, shape, name=f"{value.tensor.name}_part")


def _why_not_padding(operation: Operation) -> str | None:
    amounts: Any = operation.node.args[1]
    if any(amount < 0 for amount in amounts):
        return "it takes elements away (negative padding): slice instead"
    return why_not_rescaled(operation)


@rule(aten.constant_pad_nd.default, why_not=_why_not_padding, moves_only=True)
def _padded(lowering: Lowering, operation: Operation) -> Value:
    """Constants around; in the input's scale, as the elements are."""
    value, graph = lowering.source(operation), lowering.graph
    amounts: Any = operation.node.args[1]
    rank = len(value.order)
    sides = [[0, 0] for _ in range(rank)]
    for number in range(len(amounts) // 2):
        sides[rank - 1 - number] = list(amounts[2 * number : 2 * number + 2])
    laid = [sides[dim] for dim in value.order]
    pairs = zip(value.tensor.shape, laid, strict=True)
    shape = [size + before + after for size, (before, after) in pairs]
    around = float(argument(operation.node, 2, "value", 0.0))
    filled = operation.scales[0].nearest(around)
    inputs: list[Operand] = [
        value.tensor,
        graph.sizes([amount for side in laid for amount in side]),
        graph.constant([filled], value.tensor.dtype, name="padding"),
    ]
    padded = graph.emit(tosa.Pad(), inputs, shape, name=f"{operation.node.name}_padded")
    result = Value(lowering.moved(operation, padded), value.order)
    if around == 0 and result.tensor is padded:
        lowering.keep_padding(result, value, [(before, after) for before, after in sides])
    return result


@rule(aten.expand_copy.default, why_not=why_not_rescaled, moves_only=True)
def _expanded(lowering: Lowering, operation: Operation) -> Value:
    """Dimensions of 1 repeated."""
    plain, graph = lowering.plain(lowering.source(operation)), lowering.graph
    shape = tuple(operation.node.meta["val"].shape)
    source = graph.reshape(plain, (1,) * (len(shape) - len(plain.shape)) + plain.shape)
    times = [wanted // size for wanted, size in zip(shape, source.shape, strict=True)]
    if any(one != 1 for one in times):
        inputs: list[Operand] = [source, graph.sizes(times)]
        source = graph.emit(tosa.Tile(), inputs, shape, name=f"{operation.node.name}_tiled")
    return _plain(lowering.moved(operation, source))
