"""What a program says about a method without running it."""

import dataclasses
from typing import TYPE_CHECKING

import torch

from etlab.errors import InvalidArgumentError
from etlab.runtime.dtypes import dtype_of

if TYPE_CHECKING:
    from etlab.runtime import _native


@dataclasses.dataclass(frozen=True, slots=True)
class TensorInfo:
    """Shape, dtype and place of one tensor; the accessors are ExecuTorch's."""

    shape: tuple[int, ...]
    scalar_type: int
    dim_order: tuple[int, ...]
    is_dynamic: bool
    planned: bool
    bytes: int
    name: str

    def sizes(self) -> tuple[int, ...]:
        """Sizes; the upper bounds when the shape is dynamic."""
        return self.shape

    def dtype(self) -> int:
        """The number that the .pte format gives to the dtype."""
        return self.scalar_type

    @property
    def torch_dtype(self) -> torch.dtype:
        """The dtype as torch names it."""
        return dtype_of(self.scalar_type)

    def is_memory_planned(self) -> bool:
        """Whether the program has its place in an arena."""
        return self.planned

    def nbytes(self) -> int:
        """Bytes of all elements, at the upper bound when the shape is dynamic."""
        return self.bytes

    def __repr__(self) -> str:
        """For example `TensorInfo(float32[1, 3], planned)`."""
        bound = "up to " if self.is_dynamic else ""
        dtype = str(self.torch_dtype).removeprefix("torch.")
        name = f"{self.name}: " if self.name else ""
        planned = "planned" if self.planned else "memory of the caller"
        return f"TensorInfo({name}{bound}{dtype}{list(self.shape)}, {planned})"


@dataclasses.dataclass(frozen=True, slots=True)
class Instruction:
    """One step of a method: its kind, the operator or backend, the values it touches."""

    index: int
    kind: str
    name: str
    arguments: tuple[int, ...]


class MethodMeta:
    """Inputs, outputs, state and needs of a method, read from the file alone."""

    def __init__(self, native: "_native.MethodMeta") -> None:
        """Wrap what native code read."""
        self._native = native

    def name(self) -> str:
        """The name of the method, for example "forward"."""
        return self._native.name

    def num_inputs(self) -> int:
        """How many flat inputs the caller gives."""
        return len(self._native.inputs)

    def num_outputs(self) -> int:
        """How many flat outputs come back."""
        return len(self._native.outputs)

    def num_attributes(self) -> int:
        """How many mutable buffers the file names."""
        return len(self._native.attributes)

    def num_instructions(self) -> int:
        """How many instructions the method has."""
        return len(self._native.instructions)

    def input_kind(self, index: int) -> str:
        """Kind of an input: "Tensor", "int", "float", "bool", "str" or "None"."""
        return _item(self._native.inputs, index, "input").kind

    def output_kind(self, index: int) -> str:
        """Kind of an output: "Tensor", "int", "float", "bool", "str", "list" or "None"."""
        return _item(self._native.outputs, index, "output").kind

    def input_tensor_meta(self, index: int) -> TensorInfo:
        """The tensor at input `index`.

        Raises:
            IndexError: there is no such input.
            InvalidArgumentError: the input is no tensor.
        """
        return _tensor_info(self._native.inputs, index, "input")

    def output_tensor_meta(self, index: int) -> TensorInfo:
        """The tensor at output `index`; raises as `input_tensor_meta`."""
        return _tensor_info(self._native.outputs, index, "output")

    def attribute_tensor_meta(self, index: int) -> TensorInfo:
        """The named mutable buffer `index`; raises as `input_tensor_meta`."""
        return _tensor_info(self._native.attributes, index, "attribute")

    @property
    def returned_inputs(self) -> dict[int, int]:
        """Outputs that are inputs of the method, by their places: what it updates, mostly."""
        inputs = {value.index: place for place, value in enumerate(self._native.inputs)}
        return {
            place: inputs[value.index]
            for place, value in enumerate(self._native.outputs)
            if value.index in inputs and value.kind == "Tensor"
        }

    @property
    def arena_sizes(self) -> tuple[int, ...]:
        """Bytes of the planned arenas, from arena 1 on."""
        return tuple(self._native.arena_sizes)

    @property
    def operator_names(self) -> tuple[str, ...]:
        """The operators that the method calls, sorted."""
        return tuple(self._native.operators)

    @property
    def backend_names(self) -> tuple[str, ...]:
        """The backends that the method delegates to, sorted."""
        return tuple(self._native.backends)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions in order."""
        return tuple(
            Instruction(index, native.kind, native.name, tuple(native.arguments))
            for index, native in enumerate(self._native.instructions)
        )

    @property
    def input_spec(self) -> str:
        """The pytree text of `(args, kwargs)`; empty when the file has none."""
        return self._native.input_spec

    @property
    def output_spec(self) -> str:
        """The pytree text of the result; empty when the file has none."""
        return self._native.output_spec

    def __repr__(self) -> str:
        """Name, inputs and outputs."""
        inputs = ", ".join(map(_describe, self._native.inputs))
        outputs = ", ".join(map(_describe, self._native.outputs))
        return f"MethodMeta({self.name()}({inputs}) -> ({outputs}))"


# ExecuTorch's documentation uses both names.
MethodMetadata = MethodMeta


def _item(values: "list[_native.ValueInfo]", index: int, what: str) -> "_native.ValueInfo":
    if not 0 <= index < len(values):
        raise IndexError(f"{what} {index} does not exist, there are {len(values)}")
    return values[index]


def _tensor_info(values: "list[_native.ValueInfo]", index: int, what: str) -> TensorInfo:
    value = _item(values, index, what)
    if value.kind != "Tensor":
        raise InvalidArgumentError(f"{what} {index} is no Tensor but {value.kind}")
    return TensorInfo(
        shape=tuple(value.sizes),
        scalar_type=value.dtype,
        dim_order=tuple(value.dim_order),
        is_dynamic=value.is_dynamic,
        planned=value.is_memory_planned,
        bytes=value.nbytes,
        name=value.name,
    )


def _describe(value: "_native.ValueInfo") -> str:
    if value.kind != "Tensor":
        return value.kind
    dtype = str(dtype_of(value.dtype)).removeprefix("torch.")
    return f"{'up to ' if value.is_dynamic else ''}{dtype}{list(value.sizes)}"
