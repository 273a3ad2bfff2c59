"""An ETDump's content as dataclasses, named and ordered as in ExecuTorch's schema (`ED00`).

0   size of the buffer, four bytes   4   the FlatBuffer
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, cast

from etlab.errors import AccessError, InvalidProgramError
from etlab.exir.emit.fields import (
    Bytes,
    Float32,
    Int32,
    Int64,
    Int64s,
    Scalar,
    UInt32,
    UInt64,
)
from etlab.exir.emit.flatbuffer import write_flatbuffer
from etlab.exir.emit.reader import read_flatbuffer
from etlab.exir.emit.scalar_type import ScalarType
from etlab.exir.emit.schema import Bool, Double, Int

FILE_IDENTIFIER = b"ED00"
_SIZE = struct.Struct("<I")


class ValueType(IntEnum):
    """Which field of a `Value` holds it."""

    NULL = 0
    INT = 1
    BOOL = 2
    FLOAT = 3
    DOUBLE = 4
    TENSOR = 5
    TENSOR_LIST = 6
    STRING = 7


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor whose elements begin at byte `offset` of the debug buffer."""

    scalar_type: Annotated[ScalarType, Scalar("b")] = ScalarType.BYTE
    sizes: Int64s | None = None
    strides: Int64s | None = None
    offset: Int64 = 0


@dataclass(frozen=True, slots=True)
class TensorList:
    """Several tensors."""

    tensors: tuple[Tensor, ...] | None = None


@dataclass(frozen=True, slots=True)
class Float:
    """A floating-point number."""

    float_val: Float32 = 0.0


@dataclass(frozen=True, slots=True)
class Value:
    """What an instruction or a delegate's node gave; `output` marks outputs of the method."""

    val: Annotated[ValueType, Scalar("b")] = ValueType.NULL
    tensor: Tensor | None = None
    tensor_list: TensorList | None = None
    int_value: Int | None = None
    float_value: Float | None = None
    double_value: Double | None = None
    bool_value: Bool | None = None
    output: Bool | None = None


@dataclass(frozen=True, slots=True)
class DebugEvent:
    """A value of an instruction, or of a delegate's node, which has one of the identifiers."""

    chain_index: UInt64 = 0
    instruction_id: Int32 = -1
    debug_entry: Value | None = None
    delegate_debug_id_int: Int32 = -1
    delegate_debug_id_str: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class AllocationEvent:
    """Memory that an allocator gave."""

    allocator_id: Int32 = 0
    allocation_size: UInt64 = 0


@dataclass(frozen=True, slots=True)
class ProfileEvent:
    """Something that took time; chain -1 stands for the whole method."""

    name: str | None = None
    chain_index: Int32 = 0
    instruction_id: Int32 = -1
    delegate_debug_id_int: Int32 = -1
    delegate_debug_id_str: str | None = None
    delegate_debug_metadata: Bytes | None = None
    start_time: UInt64 = 0
    end_time: UInt64 = 0

    @property
    def delegate_debug_id(self) -> int | str | None:
        """Which node of a delegate it was; None for an instruction or a method."""
        if self.delegate_debug_id_str is not None:
            return self.delegate_debug_id_str
        return self.delegate_debug_id_int if self.delegate_debug_id_int >= 0 else None


@dataclass(frozen=True, slots=True)
class Event:
    """One of the three."""

    profile_event: ProfileEvent | None = None
    allocation_event: AllocationEvent | None = None
    debug_event: DebugEvent | None = None


@dataclass(frozen=True, slots=True)
class Allocator:
    """An allocator by name."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class RunData:
    """The load of a method ("Default") or one run ("Execute")."""

    name: str | None = None
    bundled_input_index: Int32 = -1
    allocators: tuple[Allocator, ...] | None = None
    events: tuple[Event, ...] | None = None


@dataclass(frozen=True, slots=True)
class ETDump:
    """The whole file."""

    version: UInt32 = 0
    run_data: tuple[RunData, ...] | None = None


def read_etdump(data: bytes | bytearray | memoryview) -> ETDump:
    """Read the content of an .etdp file, ours or official.

    Raises:
        InvalidProgramError: the bytes are no ETDump, cut short or damaged.
    """
    buffer = memoryview(data).cast("B")
    if len(buffer) < _SIZE.size or _SIZE.unpack_from(buffer)[0] > len(buffer) - _SIZE.size:
        raise InvalidProgramError(
            f"the ETDump's first four bytes do not give the size of what follows in {len(buffer)}"
            " bytes; the file is cut short or no ETDump"
        )
    (size,) = _SIZE.unpack_from(buffer)
    content = buffer[_SIZE.size : _SIZE.size + size]
    return cast(ETDump, read_flatbuffer(content, ETDump, identifier=FILE_IDENTIFIER))


def write_etdump(dump: ETDump) -> bytes:
    """The content of an .etdp file."""
    buffer = write_flatbuffer(dump, identifier=FILE_IDENTIFIER)
    return _SIZE.pack(len(buffer)) + bytes(buffer)


def read_file(path: str | Path) -> bytes:
    """The bytes of a file.

    Raises:
        AccessError: it cannot be read; the message says why.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise AccessError(f"cannot read '{path}': {error.strerror}") from error
