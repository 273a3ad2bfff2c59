"""Binary operators: every dtype on pairs of special values, broadcasting, promotion."""

from itertools import product

from kernels.case import ALL, Case, broadcasts, for_dtypes, make_tensor, special_pairs

CASES = [
    *for_dtypes("aten::add.out", ALL, special_pairs),
    *[Case("aten::add.out", pair) for pair in broadcasts()],
    *[
        Case("aten::add.out", (make_tensor(3, 5, dtype=a), make_tensor(5, dtype=b)))
        for a, b in product(ALL, ALL)
    ],
    *[
        Case("aten::add.out", (make_tensor(3, 5, dtype=a), make_tensor(dtype=b)))
        for a, b in product(ALL, ALL)
    ],
]
