"""Transforms of lines with small factors, which the optimized library takes eight at a time."""

import torch

from kernels.case import Case, make_tensor

LENGTHS = (4, 6, 10, 16, 30, 60, 64, 250, 512)  # every radix, alone and together
LINES = (1, 8, 11)  # a block filled up, a whole one, both


def _frequencies(lines: int, length: int) -> torch.Tensor:
    parts = make_tensor(lines, length // 2 + 1, 2, low=-2, high=2)  # ends that are not real too
    return torch.view_as_complex(parts)


FAST_CASES = [
    *[
        Case("aten::_fft_r2c.out", (make_tensor(lines, length, low=-2, high=2), [1], mode, True))
        for length in LENGTHS
        for lines, mode in zip(LINES, (0, 1, 2), strict=True)
    ],
    *[
        Case("aten::_fft_c2r.out", (_frequencies(lines, length), [1], mode, length))
        for length in LENGTHS
        for lines, mode in zip(LINES, (2, 0, 1), strict=True)
    ],
    Case("aten::_fft_r2c.out", (make_tensor(2, 3, 1, 12), [3], 0, True)),
    Case("aten::_fft_r2c.out", (make_tensor(20), [0], 1, True)),
    Case("aten::_fft_r2c.out", (torch.tensor([[1.0, float("nan"), 0, 2]] * 2), [1], 0, True)),
]

CASES = FAST_CASES
