"""Bundled programs as files: ExecuTorch's `BP08`, one FlatBuffer with the program inside."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch

from etlab.devtools.bundled_program.config import MethodTestCase, MethodTestSuite, Value
from etlab.devtools.bundled_program.core import BundledProgram
from etlab.errors import AccessError, InvalidProgramError
from etlab.exir.emit.fields import (
    AlignedBytes,
    Int32s,
    Items,
    OneOf,
    Scalar,
    UInt8s,
    UInt32,
)
from etlab.exir.emit.flatbuffer import write_flatbuffer
from etlab.exir.emit.reader import read_flatbuffer
from etlab.exir.emit.scalar_type import ScalarType
from etlab.exir.emit.schema import Bool, Double, Int
from etlab.runtime import dtype_of, scalar_type_of

FILE_IDENTIFIER = b"BP08"
SCHEMA_VERSION = 0


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor with its elements in memory order; `dim_order` names dimensions, outermost first."""

    scalar_type: Annotated[ScalarType, Scalar("b")] = ScalarType.BYTE
    sizes: Int32s | None = None
    data: AlignedBytes | None = None
    dim_order: UInt8s | None = None


_KINDS = (_Tensor, Int, Bool, Double)


@dataclass(frozen=True, slots=True)
class _Value:
    val: Annotated[_Tensor | Int | Bool | Double | None, OneOf(_KINDS)] = None


@dataclass(frozen=True, slots=True)
class _Case:
    inputs: tuple[_Value, ...] | None = None
    expected_outputs: tuple[_Value, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Suite:
    method_name: str | None = None
    test_cases: tuple[_Case, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Bundle:
    version: UInt32 = SCHEMA_VERSION
    method_test_suites: tuple[_Suite, ...] | None = None
    program: Annotated[bytes, Items("B", 32)] | None = None


def is_bundled_program(data: bytes | memoryview) -> bool:
    """Whether bytes begin as those of a bundled program do."""
    return bytes(data[4:8]) == FILE_IDENTIFIER


def serialize_from_bundled_program_to_flatbuffer(bundled_program: BundledProgram) -> bytes:
    """The content of a .bpte file."""
    suites = tuple(
        _Suite(
            suite.method_name,
            tuple(
                _Case(tuple(map(_stored, case.inputs)), tuple(map(_stored, case.expected_outputs)))
                for case in suite.test_cases
            ),
        )
        for suite in bundled_program.method_test_suites
    )
    bundle = _Bundle(SCHEMA_VERSION, suites, bundled_program.program_bytes)
    return bytes(write_flatbuffer(bundle, identifier=FILE_IDENTIFIER))


def deserialize_from_flatbuffer_to_bundled_program(flatbuffer: bytes) -> BundledProgram:
    """Read a .bpte file's content, ours or official.

    Raises:
        InvalidProgramError: it is damaged, too new, or no bundled program.
        InvalidArgumentError: its cases do not fit its program.
    """
    bundle = read_flatbuffer(flatbuffer, _Bundle, identifier=FILE_IDENTIFIER)
    if bundle.version > SCHEMA_VERSION:
        raise InvalidProgramError(
            f"the bundled program has schema version {bundle.version}, newer than {SCHEMA_VERSION};"
            " update etlab"
        )
    if bundle.program is None:
        raise InvalidProgramError("the bundled program has no program in it; it is damaged")
    suites = [
        MethodTestSuite(
            suite.method_name or "",
            [
                MethodTestCase(
                    list(map(_loaded, case.inputs or ())),
                    list(map(_loaded, case.expected_outputs or ())),
                )
                for case in suite.test_cases or ()
            ],
        )
        for suite in bundle.method_test_suites or ()
    ]
    return BundledProgram(method_test_suites=suites, program_bytes=bytes(bundle.program))


def save(bundled_program: BundledProgram, path: str | Path) -> None:
    """Write a .bpte file; as `BundledProgram.save`."""
    data = serialize_from_bundled_program_to_flatbuffer(bundled_program)
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise AccessError(f"cannot write '{path}': {error.strerror}") from error


def _stored(value: Value) -> _Value:
    if isinstance(value, bool):
        return _Value(Bool(value))
    if isinstance(value, int):
        return _Value(Int(value))
    if isinstance(value, float):
        return _Value(Double(value))
    tensor = value.detach().resolve_conj().resolve_neg().cpu()
    order = tuple(tensor.dim_order()) if _is_dense(tensor) else tuple(range(tensor.dim()))
    elements = tensor.permute(order).contiguous()
    data = elements.reshape(-1).view(torch.uint8).numpy().tobytes() if elements.numel() else b""
    kind = ScalarType(scalar_type_of(tensor.dtype))
    return _Value(_Tensor(kind, tuple(tensor.shape), data, order))


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill their memory in some order of dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True


def _loaded(value: _Value) -> Any:
    kind = value.val
    if isinstance(kind, _Tensor):
        return _tensor(kind)
    if isinstance(kind, Int):
        return kind.int_val
    if isinstance(kind, Bool):
        return kind.bool_val
    if isinstance(kind, Double):
        return kind.double_val
    raise InvalidProgramError("the bundled program has a value of no kind; it is damaged")


def _tensor(stored: _Tensor) -> torch.Tensor:
    sizes = tuple(stored.sizes or ())
    order = tuple(stored.dim_order or range(len(sizes)))
    dtype = dtype_of(int(stored.scalar_type))
    data = bytes(stored.data or b"")
    is_sound = sorted(order) == list(range(len(sizes))) and all(size >= 0 for size in sizes)
    if not is_sound or math.prod(sizes) * dtype.itemsize != len(data):
        raise InvalidProgramError(
            f"the bundled program has a tensor {list(sizes)} of {dtype} in order {list(order)} with"
            f" {len(data)} bytes; it is damaged"
        )
    if not data:
        return torch.empty(sizes, dtype=dtype)
    elements = torch.frombuffer(bytearray(data), dtype=dtype).view([sizes[dim] for dim in order])
    return elements.permute([order.index(dim) for dim in range(len(sizes))])
