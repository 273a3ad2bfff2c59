"""Unary operators: every dtype on special values, every layout."""

from kernels.case import REAL, Case, for_dtypes, layouts, specials

CASES = [
    *for_dtypes("aten::relu.out", REAL, lambda dtype: (specials(dtype),)),
    *[Case("aten::relu.out", (tensor,)) for tensor in layouts()],
]
