"""A program file's content as dataclasses, named and ordered as in ExecuTorch's schema (`ET12`).

Frozen, comparable and free of behaviour: the emitter makes them, `flatbuffer` writes and reads
them, `dump` prints them.
"""

from dataclasses import dataclass
from typing import Annotated

from etlab.exir.emit.enums import DataLocation, DeviceType, TensorDataLocation, TensorShapeDynamism
from etlab.exir.emit.fields import (
    AlignedBytes,
    Boolean,
    Booleans,
    Bytes,
    Float64,
    Float64s,
    Int8,
    Int32,
    Int32s,
    Int64,
    Int64s,
    OneOf,
    Scalar,
    UInt8s,
    UInt32,
    UInt64,
    UInt64s,
)
from etlab.exir.emit.scalar_type import ScalarType

FILE_IDENTIFIER = b"ET12"
SCHEMA_VERSION = 0


@dataclass(frozen=True, slots=True)
class ContainerMetadata:
    """Tree specs of a method's inputs and outputs, as text."""

    encoded_inp_str: str | None = None
    encoded_out_str: str | None = None


@dataclass(frozen=True, slots=True)
class AllocationDetails:
    """A place in a planned arena; arena `memory_id` counts from 1."""

    memory_id: UInt32 = 0
    memory_offset_low: UInt32 = 0
    memory_offset_high: UInt32 = 0

    @property
    def memory_offset(self) -> int:
        """The offset in bytes."""
        return self.memory_offset_low | self.memory_offset_high << 32


@dataclass(frozen=True, slots=True)
class ExtraTensorInfo:
    """What few tensors need: name, location outside of the file, device."""

    mutable_data_segments_idx: UInt64 = 0
    fully_qualified_name: str | None = None
    location: Annotated[TensorDataLocation, Scalar("b")] = TensorDataLocation.SEGMENT
    device_type: Annotated[DeviceType, Scalar("b")] = DeviceType.CPU
    device_index: Int8 = 0


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor: constant, planned, or given by the caller.

    `data_buffer_idx` > 0 without `allocation_info` is a constant, 0 with it is planned, 0 without
    it comes from the caller, > 0 with it is planned and starts with the stored bytes.
    """

    scalar_type: Annotated[ScalarType, Scalar("b")] = ScalarType.BYTE
    storage_offset: Int32 = 0
    sizes: Int32s | None = None
    dim_order: UInt8s | None = None
    requires_grad: Boolean = False
    data_buffer_idx: UInt32 = 0
    allocation_info: AllocationDetails | None = None
    layout: Int8 = 0
    shape_dynamism: Annotated[TensorShapeDynamism, Scalar("b")] = TensorShapeDynamism.STATIC
    extra_tensor_info: ExtraTensorInfo | None = None


@dataclass(frozen=True, slots=True)
class Null:
    """None."""


@dataclass(frozen=True, slots=True)
class Int:
    """An integer."""

    int_val: Int64 = 0


@dataclass(frozen=True, slots=True)
class Bool:
    """A boolean."""

    bool_val: Boolean = False


@dataclass(frozen=True, slots=True)
class Double:
    """A floating-point number."""

    double_val: Float64 = 0.0


@dataclass(frozen=True, slots=True)
class String:
    """A string."""

    string_val: str | None = None


@dataclass(frozen=True, slots=True)
class IntList:
    """A list of integers: indices of the values that hold them."""

    items: Int64s | None = None


@dataclass(frozen=True, slots=True)
class DoubleList:
    """A list of floating-point numbers, literally."""

    items: Float64s | None = None


@dataclass(frozen=True, slots=True)
class BoolList:
    """A list of booleans, literally."""

    items: Booleans | None = None


@dataclass(frozen=True, slots=True)
class TensorList:
    """A list of tensors: indices of earlier values."""

    items: Int32s | None = None


@dataclass(frozen=True, slots=True)
class OptionalTensorList:
    """A list of tensors or None: indices of earlier values, -1 for None."""

    items: Int32s | None = None


KERNEL_TYPES = (
    Null,
    Int,
    Bool,
    Double,
    Tensor,
    String,
    IntList,
    DoubleList,
    BoolList,
    TensorList,
    OptionalTensorList,
)
KernelTypes = (
    Null
    | Int
    | Bool
    | Double
    | Tensor
    | String
    | IntList
    | DoubleList
    | BoolList
    | TensorList
    | OptionalTensorList
)


@dataclass(frozen=True, slots=True)
class EValue:
    """One entry of a method's table of values."""

    val: Annotated[KernelTypes | None, OneOf(KERNEL_TYPES)] = None


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator's name with namespace, and its overload."""

    name: str | None = None
    overload: str | None = None


@dataclass(frozen=True, slots=True)
class KernelCall:
    """Runs a kernel on values."""

    op_index: Int32 = 0
    args: Int32s | None = None


@dataclass(frozen=True, slots=True)
class DelegateCall:
    """Runs a delegate on values: its inputs, then its outputs."""

    delegate_index: Int32 = 0
    args: Int32s | None = None


@dataclass(frozen=True, slots=True)
class MoveCall:
    """Copies one value entry into another."""

    move_from: Int32 = 0
    move_to: Int32 = 0


@dataclass(frozen=True, slots=True)
class JumpFalseCall:
    """Goes on elsewhere when a boolean is false."""

    cond_value_index: Int32 = 0
    destination_instruction: Int32 = 0


@dataclass(frozen=True, slots=True)
class FreeCall:
    """Gives a tensor's memory back."""

    value_index: Int32 = 0


INSTRUCTION_TYPES = (KernelCall, DelegateCall, MoveCall, JumpFalseCall, FreeCall)
InstructionArguments = KernelCall | DelegateCall | MoveCall | JumpFalseCall | FreeCall


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of a chain."""

    instr_args: Annotated[InstructionArguments | None, OneOf(INSTRUCTION_TYPES)] = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a stack trace."""

    filename: str | None = None
    lineno: Int32 = 0
    name: str | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True)
class FrameList:
    """Where an instruction came from in the source."""

    items: tuple[Frame, ...] | None = None


@dataclass(frozen=True, slots=True)
class BackendDelegateDataReference:
    """Where a delegate's bytes are: in `segments` or in `backend_delegate_data`."""

    location: Annotated[DataLocation, Scalar("b")] = DataLocation.INLINE
    index: UInt32 = 0


@dataclass(frozen=True, slots=True)
class CompileSpec:
    """One option given to a backend."""

    key: str | None = None
    value: Bytes | None = None


@dataclass(frozen=True, slots=True)
class BackendDelegate:
    """One subgraph that a backend runs."""

    id: str | None = None
    processed: BackendDelegateDataReference | None = None
    compile_specs: tuple[CompileSpec, ...] | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """Instructions in order; every program has one chain a method."""

    inputs: Int32s | None = None
    outputs: Int32s | None = None
    instructions: tuple[Instruction, ...] | None = None
    stacktrace: tuple[FrameList, ...] | None = None


@dataclass(frozen=True, slots=True)
class NonConstBufferDevice:
    """The device of one planned arena."""

    buffer_idx: Int32 = 0
    device_type: Annotated[DeviceType, Scalar("b")] = DeviceType.CPU
    device_index: Int8 = 0


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    """One method."""

    name: str | None = None
    container_meta_type: ContainerMetadata | None = None
    values: tuple[EValue, ...] | None = None
    inputs: Int32s | None = None
    outputs: Int32s | None = None
    chains: tuple[Chain, ...] | None = None
    operators: tuple[Operator, ...] | None = None
    delegates: tuple[BackendDelegate, ...] | None = None
    non_const_buffer_sizes: Int64s | None = None
    non_const_buffer_device: tuple[NonConstBufferDevice, ...] | None = None


@dataclass(frozen=True, slots=True)
class Buffer:
    """A constant's bytes inside the FlatBuffer (old files)."""

    storage: AlignedBytes | None = None


@dataclass(frozen=True, slots=True)
class BackendDelegateInlineData:
    """A delegate's bytes inside the FlatBuffer."""

    data: AlignedBytes | None = None


@dataclass(frozen=True, slots=True)
class DataSegment:
    """A range of the file behind the FlatBuffer, relative to the first segment."""

    offset: UInt64 = 0
    size: UInt64 = 0


@dataclass(frozen=True, slots=True)
class SubsegmentOffsets:
    """Where each tensor starts inside a segment; entry 0 is a placeholder."""

    segment_index: UInt32 = 0
    offsets: UInt64s | None = None


@dataclass(frozen=True, slots=True)
class NamedData:
    """A segment that backends find by name."""

    key: str | None = None
    segment_index: UInt32 = 0


@dataclass(frozen=True, slots=True)
class Program:
    """The root."""

    version: UInt32 = 0
    execution_plan: tuple[ExecutionPlan, ...] | None = None
    constant_buffer: tuple[Buffer, ...] | None = None
    backend_delegate_data: tuple[BackendDelegateInlineData, ...] | None = None
    segments: tuple[DataSegment, ...] | None = None
    constant_segment: SubsegmentOffsets | None = None
    mutable_data_segments: tuple[SubsegmentOffsets, ...] | None = None
    named_data: tuple[NamedData, ...] | None = None
