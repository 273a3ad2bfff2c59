"""A payload's content as dataclasses, fields in the order of `payload.fbs`."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Any

from etlab.backends.xnnpack.payload.nodes import NODES
from etlab.exir.emit.fields import (
    AlignedBytes,
    Float32,
    Float32s,
    Int32,
    Items,
    OneOf,
    Scalar,
    UInt32,
    UInt32s,
    UInt64,
)

NO_VALUE = 0xFFFFFFFF
NO_OFFSET = 0xFFFFFFFFFFFFFFFF
EXTERNAL_INPUT = 1
EXTERNAL_OUTPUT = 2
MAXIMUM_RANK = 6
MAXIMUM_EXTERNALS = 4096


class Datatype(IntEnum):
    """Element type and quantization scheme of a value."""

    INVALID = 0
    FP32 = 1
    FP16 = 2
    QINT8 = 3
    QUINT8 = 4
    QINT32 = 5
    QCINT8 = 6
    QCINT32 = 7
    QCINT4 = 8
    QDINT8 = 9
    QBINT4 = 10
    QPINT8 = 11
    INT32 = 12
    PFP32 = 13
    BF16 = 14


@dataclass(frozen=True, slots=True)
class Buffer:
    """A constant inside the buffer, in old files."""

    storage: AlignedBytes | None = None


@dataclass(frozen=True, slots=True)
class PerChannelQuant:
    """A scale per index of one dimension."""

    scale: Float32s | None = None
    channel_dim: Int32 = 0
    scale_buffer_idx: UInt32 = 0
    num_scales: UInt32 = 0


@dataclass(frozen=True, slots=True)
class PerTensorQuant:
    """One scale and zero point."""

    scale: Float32 = 0.0
    zero_point: Int32 = 0


@dataclass(frozen=True, slots=True)
class PerTokenDynamicQuant:
    """Scale and zero point found at run time, one for the last `num_nonbatch_dims` dimensions."""

    num_nonbatch_dims: Int32 = 0


@dataclass(frozen=True, slots=True)
class PerChannelGroupQuant:
    """A scale per block of `group_size` columns of a matrix."""

    scale: Float32s | None = None
    channel_dim: Int32 = 0
    group_size: Int32 = 0
    scale_bf16: Annotated[tuple[int, ...], Items("h")] | None = None  # deprecated
    scale_buffer_idx: UInt32 = 0
    num_scales: UInt32 = 0


QuantParams = PerChannelQuant | PerTensorQuant | PerTokenDynamicQuant | PerChannelGroupQuant
_QUANT_PARAMS = (PerChannelQuant, PerTensorQuant, PerTokenDynamicQuant, PerChannelGroupQuant)


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor: sizes in memory order, and where its elements come from."""

    datatype: Annotated[Datatype, Scalar("h")] = Datatype.INVALID
    num_dims: UInt32 = 0
    dims: UInt32s | None = None
    constant_buffer_idx: UInt32 = 0
    external_id: UInt32 = 0
    flags: UInt32 = 0
    id_out: UInt32 = 0
    dq_datatype: Annotated[Datatype, Scalar("h")] = Datatype.INVALID


@dataclass(frozen=True, slots=True)
class QuantizedTensorValue:
    """A tensor of quantized elements."""

    tensor_value: TensorValue | None = None
    quant_params: Annotated[QuantParams | None, OneOf(_QUANT_PARAMS)] = None


@dataclass(frozen=True, slots=True)
class Value:
    """An entry of the graph's values."""

    xvalue_union: Annotated[
        TensorValue | QuantizedTensorValue | None, OneOf((TensorValue, QuantizedTensorValue))
    ] = None


@dataclass(frozen=True, slots=True)
class OutputMinMax:
    """Limits of a node's results: a fused activation."""

    output_min: Float32 = 0.0
    output_max: Float32 = 0.0


@dataclass(frozen=True, slots=True)
class Node:
    """An entry of the graph's nodes."""

    xnode_union: Annotated[Any, OneOf(tuple(NODES.values()))] = None
    debug_handle: UInt32 = 0
    output_min_max: OutputMinMax | None = None


@dataclass(frozen=True, slots=True)
class ConstantDataOffset:
    """Where a constant's bytes are: under a name, or in the region behind the buffer."""

    offset: UInt64 = 0
    size: UInt64 = 0
    named_key: str | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """The whole payload."""

    version: str | None = None
    xnodes: tuple[Node, ...] | None = None
    xvalues: tuple[Value, ...] | None = None
    num_externs: UInt32 = 0
    input_ids: UInt32s | None = None
    output_ids: UInt32s | None = None
    constant_buffer: tuple[Buffer, ...] | None = None
    mem_buffer_sizes: UInt32s | None = None
    constant_data: tuple[ConstantDataOffset, ...] | None = None


def tensor_of(value: Value) -> TensorValue | None:
    """The tensor of an entry, quantized or not."""
    content = value.xvalue_union
    return content.tensor_value if isinstance(content, QuantizedTensorValue) else content
