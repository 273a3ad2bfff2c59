"""Softmax in integers: exponentials from a table, one reciprocal for each row.

With E = exp(x - max) of 15 bits and S = sum(E) = m 2^(31-c), m from 1 to 2, c its leading zeros:
1/m comes from a table of 256 entries and one step of Newton's, and E/S is E (1/m) 2^(c-31).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from etlab.backends.arm.builder import Operand, Tensor
from etlab.backends.arm.format import operators as tosa
from etlab.backends.arm.format.operators import DType
from etlab.backends.arm.lowering import Lowering, Value, widened
from etlab.backends.arm.operators.registry import rule
from etlab.backends.arm.quantized import Operation, Scale
from etlab.backends.arm.scaling import can_rescale

aten = torch.ops.aten

_BITS = 15  # of an exponential, and of a table's reciprocal
_LARGEST = 2**_BITS - 1
_FINE = 22  # bits of the reciprocal behind the point
_RESULT = 28  # bits of the quotient behind the point, before its scaling
_MOST_ZEROS = 32 - _BITS  # of a sum, which has the largest exponential at least
_LONGEST = 2**15  # elements whose exponentials' sum is below 2^30


def _why_not(operation: Operation) -> str | None:
    scale, result = operation.scales[0], operation.result
    if scale.dtype is not torch.int8 or result.dtype is not torch.int8:
        return "its input or result has 16 bits, its tables are of 8: quantize with int8-arm"
    sizes = operation.sources[0].meta["val"].shape
    if sizes[_axis(operation)] > _LONGEST:
        return f"its rows have more than {_LONGEST} elements, whose sum leaves 30 bits"
    if not can_rescale(2.0**-_RESULT / result.scale, 2**_RESULT + 1):
        return "the scale of its result is too fine"
    return None


def _axis(operation: Operation) -> int:
    axis: Any = operation.node.args[1]
    return int(axis) % len(operation.sources[0].meta["val"].shape)


@rule(aten._softmax.default, why_not=_why_not)
def _softmax(lowering: Lowering, operation: Operation) -> Value:
    """Steps below the largest element first: 256 of them."""
    value = lowering.source(operation)
    parts = _Parts(lowering, operation, value.tensor, value.order.index(_axis(operation)))
    exponential = parts.exponential()
    sums = parts.emit(tosa.ReduceSum(parts.axis), [exponential], "sum", parts.rows)
    zeros = parts.emit(tosa.Clz(), [sums], "zeros", parts.rows)
    reciprocal = parts.reciprocal(sums, zeros)
    product = parts.product(exponential, reciprocal, _BITS + _FINE - _RESULT - 1, "product")
    most = parts.number(_MOST_ZEROS)
    places = parts.emit(tosa.Sub(), [most, zeros], "places", parts.rows)
    quotient = parts.emit(tosa.ArithmeticRightShift(round=True), [product, places], "quotient")
    ratio = 2.0**-_RESULT / operation.result.scale
    return Value(lowering.rescaled(operation, quotient, [ratio]), value.order)


class _Parts:
    """The graph's parts of one softmax; all int32 but where said otherwise."""

    def __init__(self, lowering: Lowering, operation: Operation, x: Tensor, axis: int) -> None:
        self._lowering, self._graph = lowering, lowering.graph
        self._x, self._scale = x, operation.scales[0]
        self._name = operation.node.name
        self.axis = axis
        self.rows = tuple(1 if dim == axis else size for dim, size in enumerate(x.shape))

    def exponential(self) -> Tensor:
        """exp(x - max) times 2^15."""
        largest = self.emit(
            tosa.ReduceMax(self.axis, nan_mode=1), [self._x], "max", self.rows, DType.INT8
        )
        scale = self._scale
        wide = widened(self._lowering, self._x, scale, 1.0, f"{self._name}_wide")
        top = widened(self._lowering, largest, scale, 1.0, f"{self._name}_top")
        below = self.emit(tosa.Sub(), [wide, top], "below")
        index = self._narrow(below, 1.0, 127)  # -255 to 0 becomes -128 to 127

        def value(place: int) -> float:
            return float(_LARGEST * math.exp((place - 127) * scale.scale))

        return self._looked_up(index, value, "exponential")

    def reciprocal(self, sums: Tensor, zeros: Tensor) -> Tensor:
        """2^22 over the sums, these brought to numbers from 1 to 2."""
        shifts = self.emit(tosa.Sub(), [zeros, self.number(1)], "shift", self.rows)
        number = self.emit(tosa.LogicalLeftShift(), [sums, shifts], "number", self.rows)
        centred = self.emit(tosa.Sub(), [number, self.number(3 << 29)], "centred", self.rows)
        index = self._narrow(centred, 2.0**-22, 0)

        def value(place: int) -> float:
            return float(min(2.0**_BITS / (1.5 + place / 256), _LARGEST))

        rough = self._looked_up(index, value, "rough")
        one = self.product(number, rough, 30 + _BITS - _FINE, "one", self.rows)
        missing = self.emit(tosa.Sub(), [self.number(2 << _FINE), one], "missing", self.rows)
        return self.product(rough, missing, _BITS, "reciprocal", self.rows)

    def product(
        self, a: Tensor, b: Tensor, shift: int, name: str, shape: tuple[int, ...] | None = None
    ) -> Tensor:
        """A product without its last bits, rounded."""
        amount = self._graph.constant([shift], DType.INT8, name=f"shift_{shift}")
        return self.emit(tosa.Mul(), [a, b, amount], name, shape)

    def number(self, value: int) -> Tensor:
        """A constant that broadcasts."""
        shape = (1,) * len(self._x.shape)
        return self._graph.constant(np.full(shape, value), DType.INT32, name=f"number_{value}")

    def emit(
        self,
        kind: Any,
        inputs: list[Operand],
        name: str,
        shape: tuple[int, ...] | None = None,
        dtype: DType = DType.INT32,
    ) -> Tensor:
        """An operator; its result has the input's shape by default."""
        named = f"{self._name}_{name}"
        return self._graph.emit(kind, inputs, shape or self._x.shape, dtype, name=named)

    def _narrow(self, tensor: Tensor, ratio: float, zero_point: int) -> Tensor:
        """An index of a table, int8."""
        return self._graph.rescale(
            tensor,
            [ratio],
            zero_point=0,
            result_zero_point=zero_point,
            dtype=DType.INT8,
            name=f"{self._name}_index",
        )

    def _looked_up(self, index: Tensor, value: Callable[[int], float], name: str) -> Tensor:
        """15 bits of a function of 256 places, from a table of the upper and one of the lower."""
        whole = np.array([round(value(place)) for place in range(-128, 128)])
        tables = {"high": whole >> 8, "low": (whole & 255) - 128}
        wide = []
        for part, ratio, zero in (("high", 256.0, 0), ("low", 1.0, -128)):
            table = self._graph.constant(tables[part], DType.INT8, name=f"{name}_{part}")
            found = self.emit(
                tosa.Table(), [index, table], f"{name}_{part}", index.shape, DType.INT8
            )
            scale, named = Scale(1.0, zero), f"{self._name}_{name}_{part}_wide"
            wide.append(widened(self._lowering, found, scale, ratio, named))
        return self.emit(tosa.Add(), [*wide], name, index.shape)
