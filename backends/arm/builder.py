"""Builds a TOSA graph, operator by operator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from etlab.backends.arm.format import operators as tosa
from etlab.backends.arm.format.operators import DType, RoundingMode
from etlab.backends.arm.format.schema import (
    Block,
    Graph,
    Operator,
    Region,
    ShapeEntry,
    TensorEntry,
    Version,
)
from etlab.backends.arm.scaling import multiplier_and_shift

# What ExecuTorch's Arm backend writes by default, which Vela and the reference model take.
VERSION = Version(1, 0, 0, draft=False)

_MAIN = "main"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value of the graph.

    Attributes:
        name: its own.
        shape: as it lies in memory.
        dtype: of its elements.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType


Operand = Tensor | str  # a shape goes by its name


class GraphBuilder:
    """A graph while it grows; equal constants are stored once."""

    def __init__(self) -> None:
        self._operators: list[Operator] = []
        self._tensors: dict[str, TensorEntry] = {}
        self._shapes: dict[str, ShapeEntry] = {}
        self._inputs: list[str] = []
        self._outputs: list[str] = []
        self._constants: dict[tuple[Any, ...], Tensor] = {}

    def input(self, name: str, shape: Sequence[int], dtype: DType) -> Tensor:
        """An input of the graph."""
        made = self._tensor(name, shape, dtype)
        self._inputs.append(made.name)
        return made

    def output(self, tensor: Tensor) -> None:
        """Make a value the next output of the graph; one that is an output already is copied."""
        if tensor.name in self._outputs or tensor.name in self._inputs:
            tensor = self.emit(tosa.Identity(), [tensor], tensor.shape, name=tensor.name)
        self._outputs.append(tensor.name)

    def emit(
        self,
        attributes: Any,
        inputs: Sequence[Operand],
        shape: Sequence[int],
        dtype: DType | None = None,
        *,
        name: str,
    ) -> Tensor:
        """Add an operator.

        Args:
            attributes: which operator, with its attributes.
            inputs: tensors, and names of shapes.
            shape: of the result.
            dtype: of the result; None: the first input's.
            name: of the result, made unique.
        """
        if dtype is None:
            assert isinstance(inputs[0], Tensor)
            dtype = inputs[0].dtype
        made = self._tensor(name, shape, dtype)
        names = tuple(one.name if isinstance(one, Tensor) else one for one in inputs)
        self._operators.append(Operator.of(attributes, names, (made.name,)))
        return made

    def constant(self, values: Any, dtype: DType, *, name: str) -> Tensor:
        """A constant tensor.

        Args:
            values: what `numpy.asarray` takes.
            dtype: of its elements.
            name: made unique.
        """
        array = np.ascontiguousarray(values, _numpy_type(dtype))
        if dtype is DType.INT48:
            data = array.reshape(-1, 1).view(np.uint8)[:, :6].tobytes()
        else:
            data = array.tobytes()
        key = (dtype, array.shape, data)
        if key not in self._constants:
            made = self._tensor(name, array.shape, dtype, data)
            self._operators.append(Operator.of(tosa.Const(), (), (made.name,)))
            self._constants[key] = made
        return self._constants[key]

    def zero_point(self, value: int, dtype: DType) -> Tensor:
        """A zero point as the operators take it."""
        return self.constant([value], dtype, name=f"zero_point_{value}".replace("-", "m"))

    def sizes(self, values: Sequence[int]) -> str:
        """A constant list of sizes; returns its name."""
        name = "sizes_" + "_".join(map(str, values)) if values else "sizes"
        if name not in self._shapes:
            data = np.asarray(values, "<i8").tobytes()
            self._shapes[name] = ShapeEntry(name, len(values), data)
            self._operators.append(Operator.of(tosa.ConstShape(), (), (name,)))
        return name

    def reshape(self, tensor: Tensor, shape: Sequence[int]) -> Tensor:
        """The same elements in another shape."""
        if tensor.shape == tuple(shape):
            return tensor
        name = f"{tensor.name}_reshaped"
        return self.emit(tosa.Reshape(), [tensor, self.sizes(shape)], shape, name=name)

    def transpose(self, tensor: Tensor, order: Sequence[int]) -> Tensor:
        """Dimension `order[i]` becomes dimension i; a reshape where only sizes of 1 move."""
        if list(order) == sorted(order):
            return tensor
        shape = tuple(tensor.shape[dim] for dim in order)
        kept = [dim for dim in order if tensor.shape[dim] != 1]
        if kept == sorted(kept):
            return self.reshape(tensor, shape)
        attributes = tosa.Transpose(tuple(order))
        return self.emit(attributes, [tensor], shape, name=f"{tensor.name}_transposed")

    def rescale(
        self,
        tensor: Tensor,
        ratios: Sequence[float],
        *,
        zero_point: int,
        result_zero_point: int,
        dtype: DType,
        name: str,
    ) -> Tensor:
        """`(x - zero_point) * ratio + result_zero_point`, rounded half up, within the dtype.

        Args:
            tensor: int8, int16, int32 or int48.
            ratios: one, or one for each index of the last dimension.
            zero_point: of `tensor`.
            result_zero_point: of the result.
            dtype: of the result.
            name: of the result.
        """
        bits = 16 if tensor.dtype is DType.INT48 else 32
        scaled = [multiplier_and_shift(ratio, bits) for ratio in ratios]
        kind = DType.INT32 if bits == 32 else DType.INT16
        multipliers = self.constant([m for m, _ in scaled], kind, name=f"{name}_multiplier")
        shifts = self.constant([s for _, s in scaled], DType.INT8, name=f"{name}_shift")
        attributes = tosa.Rescale(
            scale32=bits == 32,
            rounding_mode=RoundingMode.SINGLE_ROUND,
            per_channel=len(ratios) > 1,
        )
        zeros = (
            self.zero_point(zero_point, tensor.dtype),
            self.zero_point(result_zero_point, dtype),
        )
        inputs = [tensor, multipliers, shifts, *zeros]
        return self.emit(attributes, inputs, tensor.shape, dtype, name=name)

    def clamp(self, tensor: Tensor, low: int, high: int, *, name: str) -> Tensor:
        """Integers within limits."""
        kind = _numpy_type(tensor.dtype)
        least, most = (np.array([one], kind).tobytes() for one in (low, high))
        attributes = tosa.Clamp(least, most, nan_mode=1)
        return self.emit(attributes, [tensor], tensor.shape, name=name)

    def finish(self, *, keeps_all: bool = False) -> Graph:
        """The graph, without operators that nobody reads.

        Args:
            keeps_all: with these, too.
        """
        operators, used = self._read()
        if keeps_all:
            operators, used = self._operators, {*self._tensors, *self._shapes}
        block = Block(
            _MAIN,
            tuple(operators),
            tuple(one for name, one in self._tensors.items() if name in used),
            tuple(self._inputs),
            tuple(self._outputs),
            tuple(one for name, one in self._shapes.items() if name in used),
        )
        return Graph(VERSION, (Region(_MAIN, (block,)),))

    def _read(self) -> tuple[list[Operator], set[str]]:
        """The operators whose results lead to an output, and the names that they use."""
        used = {*self._inputs, *self._outputs}
        kept = []
        for operator in reversed(self._operators):
            if not used.isdisjoint(operator.outputs or ()):
                kept.append(operator)
                used.update(operator.inputs or ())
        return kept[::-1], used

    def _tensor(
        self, name: str, shape: Sequence[int], dtype: DType, data: bytes | None = None
    ) -> Tensor:
        unique, count = name, 1
        while unique in self._tensors:
            count += 1
            unique = f"{name}_{count}"
        made = Tensor(unique, tuple(shape), dtype)
        self._tensors[unique] = TensorEntry(unique, made.shape, dtype, data)
        return made


def _numpy_type(dtype: DType) -> str:
    return {DType.BOOL: "?", DType.INT8: "<i1", DType.INT16: "<i2", DType.INT32: "<i4"}.get(
        dtype, "<i8"
    )
