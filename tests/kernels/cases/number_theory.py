"""Greatest common divisors."""

import torch

from kernels.case import INTEGERS, Case, broadcasts, for_dtypes, special_pairs

CASES = [
    *for_dtypes("aten::gcd.out", INTEGERS, special_pairs),
    Case("aten::gcd.out", (torch.tensor([12, 18]), torch.tensor(8, dtype=torch.int32))),
    *[Case("aten::gcd.out", pair) for pair in broadcasts(torch.int32)],
]
