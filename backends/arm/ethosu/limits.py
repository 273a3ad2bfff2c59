"""What the NPUs refuse of TOSA's integer operators, as Vela 5.2 was found to refuse it.

Vela places all of a graph on the NPU or fails, so what it would refuse has to stay outside. The U85
computes everything that there is a lowering of. What U55 and U65 do not stands below; the list that
comes with Vela is stricter where Vela splits what the NPU cannot do at once.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from etlab.backends.arm.format import operators as tosa
from etlab.backends.arm.format.operators import DType
from etlab.backends.arm.format.schema import Block, Graph, Operator, TensorEntry

_SMALL = ("u55", "u65")
_LONGEST_AXIS = 1 << 16
_LARGEST_PADDED_WINDOW = 8
_LONGEST_STRIDE = 3
_LARGER = "the Ethos-U85 has no such limit"

Shapes = Mapping[str, TensorEntry]


def has_limits(family: str) -> bool:
    """Whether the NPUs of a family refuse anything that there is a lowering of."""
    return family in _SMALL


def why_not(graph: Graph, family: str) -> str | None:
    """Why the NPUs of a family refuse a graph; None when they take it.

    Args:
        graph: with one block.
        family: "u55", "u65" or "u85".
    """
    if not has_limits(family):
        return None
    block: Block = graph.main
    entries = {str(entry.name): entry for entry in block.tensors or ()}
    for operator in block.operators or ():
        rule = _RULES.get(type(operator.attribute))
        reason = rule(operator, entries) if rule is not None else None
        if reason is not None:
            return f"the Ethos-{family.upper()} {reason}"
    return None


def _depthwise(operator: Operator, entries: Shapes) -> str | None:
    stride = max(_attribute(operator, "stride"))
    if stride <= _LONGEST_STRIDE:
        return None
    return (
        f"steps by at most {_LONGEST_STRIDE} in depthwise convolutions, this one by {stride}:"
        f" convolve by a smaller stride and slice, or {_LARGER}"
    )


def _transposed(operator: Operator, entries: Shapes) -> str | None:
    if entries[(operator.inputs or ("",))[0]].type is not DType.INT8:
        return f"has transposed convolutions of int8 only: quantize with int8-arm, or {_LARGER}"
    rows, columns = _attribute(operator, "stride")
    if rows == columns and rows in (1, 2):
        return None
    picture, kernel = (_shape(operator.inputs, index, entries) for index in (0, 1))
    if (rows, columns) == (1, 2) and picture[1] == kernel[1] == 1:
        return None
    if (rows, columns) == (2, 1) and picture[2] == kernel[2] == 1:
        return None
    return (
        f"steps by 1 or 2, in both directions alike, in transposed convolutions, this one by"
        f" ({rows}, {columns}): upsample and convolve, or {_LARGER}"
    )


def _average(operator: Operator, entries: Shapes) -> str | None:
    kernel, stride = _attribute(operator, "kernel"), _attribute(operator, "stride")
    if not any(_attribute(operator, "pad")):
        return None
    if max(kernel) <= _LARGEST_PADDED_WINDOW and max(stride) <= _LONGEST_STRIDE:
        return None
    return (
        f"averages padded windows of at most {_LARGEST_PADDED_WINDOW} by {_LARGEST_PADDED_WINDOW},"
        f" {_LONGEST_STRIDE} apart, this has windows of {kernel[0]} by {kernel[1]}, {max(stride)}"
        f" apart: pool without padding, or {_LARGER}"
    )


def _product(operator: Operator, entries: Shapes) -> str | None:
    dtype = entries[(operator.inputs or ("",))[0]].type
    if dtype is DType.INT8:
        return None
    return (
        f"multiplies matrices of int8, these are {dtype.name.lower()}: quantize with int8-arm, or"
        f" {_LARGER}"
    )


def _sum(operator: Operator, entries: Shapes) -> str | None:
    attributes: Any = operator.attribute
    shape, axis = _shape(operator.inputs, 0, entries), attributes.axis
    if axis == len(shape) - 1:
        return None
    sizes = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))
    if max(sizes) <= _LONGEST_AXIS:
        return None
    return (
        f"sums along at most {_LONGEST_AXIS} elements, and as many before and behind them; this has"
        f" {sizes[0]} x {sizes[1]} x {sizes[2]}: sum in two steps, or {_LARGER}"
    )


_RULES: dict[type, Callable[[Operator, Shapes], str | None]] = {
    tosa.DepthwiseConv2d: _depthwise,
    tosa.TransposeConv2d: _transposed,
    tosa.AvgPool2d: _average,
    tosa.MatMul: _product,
    tosa.ReduceSum: _sum,
}


def _attribute(operator: Operator, name: str) -> tuple[int, ...]:
    return tuple(getattr(operator.attribute, name) or ())


def _shape(names: tuple[str, ...] | None, index: int, entries: Shapes) -> tuple[int, ...]:
    return tuple(entries[(names or ())[index]].shape or ())
