"""Unary operators."""

import torch

from kernels.case import Case, make_tensor

CASES = [Case("aten::relu.out", (make_tensor(3, 5, dtype=torch.float32),))]
