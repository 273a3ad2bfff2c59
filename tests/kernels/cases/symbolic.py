"""Operators on the numbers of a program, and those that look at a tensor's shape or item."""

import math
import operator
from collections.abc import Callable
from typing import Any

import torch

from kernels.case import ALL, Case, Refusal, for_dtypes, make_tensor

NUMBERS = (0, 1, -1, 7, -3, 2, 2.5, -0.5, 1e10, True, False)


def _binary(name: str, result: str = "Scalar") -> str:
    return f"executorch_prim::{name}.Scalar(Scalar a, Scalar b) -> {result}"


def _unary(name: str, result: str = "Scalar") -> str:
    return f"executorch_prim::{name}.Scalar(Scalar a) -> {result}"


def _copy_index(to: torch.Tensor, source: torch.Tensor, index: int) -> None:
    to[index] = source


BINARY: dict[str, Callable[..., Any]] = {
    _binary("add"): operator.add,
    _binary("sub"): operator.sub,
    _binary("mul"): operator.mul,
    _binary("sym_max"): max,
    _binary("sym_min"): min,
    **{_binary(n, "bool"): getattr(operator, n) for n in ("eq", "gt", "lt", "ge", "le")},
}
DIVISIONS: dict[str, Callable[..., Any]] = {
    _binary("floordiv"): operator.floordiv,
    _binary("mod"): operator.mod,
    _binary("truediv"): operator.truediv,
}
UNARY: dict[str, Callable[..., Any]] = {
    _unary("neg"): operator.neg,
    _unary("sym_float"): float,
    _unary("sym_int"): int,
    _unary("trunc"): math.trunc,
    _unary("ceil"): math.ceil,
    _unary("round"): round,
    _unary("sym_not", "bool"): operator.not_,
}
FLOORDIV_INT = "executorch_prim::floordiv.int(int a, int b) -> int"
MOD_INT = "executorch_prim::mod.int(int a, int b) -> int"
SYM_ITE = "executorch_prim::sym_ite.Scalar(Scalar b, Scalar t, Scalar f) -> Scalar"
COPY_INDEX = (
    "executorch_prim::et_copy_index.tensor(Tensor(a!) copy_to, Tensor copy_from, int index)"
    " -> Tensor(a!)"
)
ET_VIEW = "executorch_prim::et_view.default(Tensor self, int[] size, Tensor(a!) out) -> Tensor(a!)"
ADD, MUL = _binary("add"), _binary("mul")

CASES = [
    *[Case(op, (a, b), reference=f) for op, f in BINARY.items() for a in NUMBERS for b in NUMBERS],
    *[
        Case(op, (a, b), reference=f)
        for op, f in DIVISIONS.items()
        for a in NUMBERS
        for b in NUMBERS
        if b != 0
    ],
    *[Case(op, (a,), reference=f) for op, f in UNARY.items() for a in (*NUMBERS, 1.5, 3.5, -2.5)],
    *[
        Case(op, (a, b), reference=f)
        for op, f in [(FLOORDIV_INT, operator.floordiv), (MOD_INT, operator.mod)]
        for a in (7, -7, 0)
        for b in (2, -2, 7)
    ],
    *[
        Case(SYM_ITE, (condition, 3, 2.5), reference=lambda b, t, f: t if b else f)
        for condition in (True, False)
    ],
    *[Case("aten::sym_size.int", (make_tensor(3, 5), dim)) for dim in (0, 1, -1, -2)],
    Case("aten::sym_numel", (make_tensor(3, 5),)),
    Case("aten::sym_numel", (make_tensor(3, 0),)),
    *for_dtypes("aten::_local_scalar_dense", ALL, lambda dtype: (make_tensor(1, dtype=dtype),)),
    Case("aten::_local_scalar_dense", (make_tensor(dtype=torch.float16),)),
    *[
        Case(
            COPY_INDEX,
            (make_tensor(3, 2, 5, dtype=dtype), make_tensor(5, 2, dtype=dtype).t(), 2),
            reference=_copy_index,
        )
        for dtype in ALL
    ],
]

REFUSALS = [
    Refusal(ADD, (2**63 - 1, 1), "does not fit 64 bits"),
    Refusal(_binary("sub"), (-(2**63), 1), "does not fit 64 bits"),
    Refusal(MUL, (2**62, 4), "does not fit 64 bits"),
    Refusal(MUL, (-1, -(2**63)), "does not fit 64 bits"),
    Refusal(_binary("floordiv"), (-(2**63), -1), "does not fit 64 bits"),
    Refusal(_binary("floordiv"), (1, 0), "division by zero"),
    Refusal(MOD_INT, (1, 0), "division by zero"),
    Refusal(_unary("sym_int"), (float("nan"),), "does not fit 64 bits"),
    Refusal("aten::sym_size.int", (make_tensor(3, 5), 2), "dimension 2 is out of range for rank 2"),
    Refusal("aten::sym_size.int", (make_tensor(), 0), "0-d"),
    Refusal("aten::_local_scalar_dense", (make_tensor(2),), "expected one element"),
    Refusal(COPY_INDEX, (make_tensor(3, 5), make_tensor(5), -1), "negative"),
    Refusal(COPY_INDEX, (make_tensor(3, 5), make_tensor(5), 3), "cannot grow"),
    Refusal(COPY_INDEX, (make_tensor(3, 5), make_tensor(4), 0), "must have sizes"),
    *[
        Refusal(ET_VIEW, (make_tensor(3, 4), size, make_tensor(2, 6)), match)
        for size, match in [
            ([5, -1], "do not divide the 12 elements"),
            ([-1, -1], "more than one open"),
            ([-2, 6], "negative"),
            ([0, -1], "do not divide"),
            ([2, 5], "numbers of elements differ"),
            ([2**40, 2**40], "more elements than memory can"),
            ([12], "rank 1"),
        ]
    ],
    Refusal(ET_VIEW, (make_tensor(4, 3).t(), [2, 6], make_tensor(2, 6)), "row by row"),
    Refusal(ET_VIEW, (make_tensor(3, 4).half(), [2, 6], make_tensor(2, 6)), "one dtype"),
]
