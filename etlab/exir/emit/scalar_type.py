"""The numbers that dtypes, layouts and memory formats have inside a program file."""

from enum import IntEnum

import torch

from etlab.errors import NotSupportedError


class ScalarType(IntEnum):
    """Element types, numbered as in the file format."""

    BYTE = 0
    CHAR = 1
    SHORT = 2
    INT = 3
    LONG = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    COMPLEX32 = 8
    COMPLEX64 = 9
    COMPLEX128 = 10
    BOOL = 11
    QINT8 = 12
    QUINT8 = 13
    QINT32 = 14
    BFLOAT16 = 15
    QUINT4X2 = 16
    QUINT2X4 = 17
    BITS16 = 22
    FLOAT8E5M2 = 23
    FLOAT8E4M3FN = 24
    FLOAT8E5M2FNUZ = 25
    FLOAT8E4M3FNUZ = 26
    UINT16 = 27
    UINT32 = 28
    UINT64 = 29


SCALAR_TYPES: dict[torch.dtype, ScalarType] = {
    torch.uint8: ScalarType.BYTE,
    torch.int8: ScalarType.CHAR,
    torch.int16: ScalarType.SHORT,
    torch.int32: ScalarType.INT,
    torch.int64: ScalarType.LONG,
    torch.float16: ScalarType.HALF,
    torch.float32: ScalarType.FLOAT,
    torch.float64: ScalarType.DOUBLE,
    torch.complex32: ScalarType.COMPLEX32,
    torch.complex64: ScalarType.COMPLEX64,
    torch.complex128: ScalarType.COMPLEX128,
    torch.bool: ScalarType.BOOL,
    torch.bfloat16: ScalarType.BFLOAT16,
    torch.float8_e5m2: ScalarType.FLOAT8E5M2,
    torch.float8_e4m3fn: ScalarType.FLOAT8E4M3FN,
    torch.float8_e5m2fnuz: ScalarType.FLOAT8E5M2FNUZ,
    torch.float8_e4m3fnuz: ScalarType.FLOAT8E4M3FNUZ,
    torch.uint16: ScalarType.UINT16,
    torch.uint32: ScalarType.UINT32,
    torch.uint64: ScalarType.UINT64,
}

# Those that kernels take. The others have a number in the format and nothing else.
EXECUTABLE_DTYPES: frozenset[torch.dtype] = frozenset(SCALAR_TYPES) - {
    torch.complex32,
    torch.float8_e5m2,
    torch.float8_e4m3fn,
    torch.float8_e5m2fnuz,
    torch.float8_e4m3fnuz,
}

DTYPES: dict[ScalarType, torch.dtype] = {number: dtype for dtype, number in SCALAR_TYPES.items()}

MEMORY_FORMATS: dict[torch.memory_format, int] = {
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
}

# Bytes of one element, also of the types that torch itself no longer has.
ITEM_SIZES: dict[ScalarType, int] = {
    **{number: dtype.itemsize for dtype, number in SCALAR_TYPES.items()},
    ScalarType.QINT8: 1,
    ScalarType.QUINT8: 1,
    ScalarType.QINT32: 4,
    ScalarType.QUINT4X2: 1,
    ScalarType.QUINT2X4: 1,
    ScalarType.BITS16: 2,
}


def scalar_type_of(dtype: torch.dtype) -> ScalarType:
    """The number of a dtype.

    Raises:
        NotSupportedError: the file format has no such element type.
    """
    try:
        return SCALAR_TYPES[dtype]
    except KeyError:
        raise NotSupportedError(
            f"{dtype} does not exist in a .pte file; convert the tensor to a common dtype before"
            " the export"
        ) from None
