"""The native runtime: load a program, run a method."""

import torch

from etlab.runtime import _native

_SCALAR_TYPES: dict[torch.dtype, int] = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 11,
    torch.bfloat16: 15,
    torch.uint16: 27,
    torch.uint32: 28,
    torch.uint64: 29,
}


def scalar_type_of(dtype: torch.dtype) -> int:
    """The number that the .pte format gives to `dtype`."""
    return _SCALAR_TYPES[dtype]


__all__ = ["_native", "scalar_type_of"]
