"""The element types of the .pte format and their torch names."""

import torch

from etlab.errors import NotSupportedError

_SCALAR_TYPES: dict[torch.dtype, int] = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.complex64: 9,
    torch.complex128: 10,
    torch.bool: 11,
    torch.bfloat16: 15,
    torch.uint16: 27,
    torch.uint32: 28,
    torch.uint64: 29,
}
_DTYPES: dict[int, torch.dtype] = {number: dtype for dtype, number in _SCALAR_TYPES.items()}


def scalar_type_of(dtype: torch.dtype) -> int:
    """The number that the .pte format gives to `dtype`.

    Raises:
        NotSupportedError: the runtime has no such element type.
    """
    if dtype not in _SCALAR_TYPES:
        known = ", ".join(str(name).removeprefix("torch.") for name in _SCALAR_TYPES)
        raise NotSupportedError(f"dtype {dtype} is not supported by the runtime; it has: {known}")
    return _SCALAR_TYPES[dtype]


def dtype_of(scalar_type: int) -> torch.dtype:
    """The torch dtype of a number of the .pte format."""
    return _DTYPES[scalar_type]
