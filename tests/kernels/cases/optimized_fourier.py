"""Transforms of lines with small factors: the optimized library takes them by parts or together."""

import torch

from kernels.case import Case, make_tensor

# Every radix, alone and among others; no part, four, eight and sixteen, blocks that end midway.
LENGTHS = (4, 6, 8, 10, 16, 24, 30, 60, 64, 160, 200, 250)
SCALED_LENGTHS = (360, 500, 512, 600, 1152)  # with parts of 12, 10, 16, 15, 16; sums stay small
LINES = (1, 16, 19)  # taken together: a block filled up, a whole one, both


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
    *[Case("aten::_fft_r2c.out", (make_tensor(2, n), [1], 1, True)) for n in SCALED_LENGTHS],
    *[Case("aten::_fft_c2r.out", (_frequencies(17, n), [1], 2, n)) for n in SCALED_LENGTHS],
    Case("aten::_fft_r2c.out", (make_tensor(2, 3, 1, 12), [3], 0, True)),
    Case("aten::_fft_r2c.out", (make_tensor(20), [0], 1, True)),
    Case("aten::_fft_r2c.out", (torch.tensor([[1.0, float("nan"), 0, 2]] * 2), [1], 0, True)),
]

CASES = FAST_CASES
