"""What the cases of quantized operators share."""

import torch

from kernels.case import make_tensor

OUT = "*, Tensor(a!) out) -> Tensor(a!)"  # the end of most of their schemas


def limits(dtype: torch.dtype) -> tuple[int, int]:
    """The smallest and the largest value of an integer dtype."""
    return torch.iinfo(dtype).min, torch.iinfo(dtype).max


def quantized(*shape: int, dtype: torch.dtype = torch.int8, seed: int = 0) -> torch.Tensor:
    """Seeded integers over the whole range of a dtype."""
    low, high = limits(dtype)
    return make_tensor(*shape, dtype=dtype, low=low, high=high + 1, seed=seed)


def scales_of(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Seeded scales of the given shape."""
    return make_tensor(*shape, dtype=dtype, low=0.01, high=0.1)


def zeros_of(*shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Seeded small zero points of the given shape."""
    return make_tensor(*shape, dtype=dtype, low=-3, high=9, seed=3)
