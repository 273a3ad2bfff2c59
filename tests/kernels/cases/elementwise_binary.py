"""Binary operators: special values in every dtype, broadcasting, promotion, refusals."""

from itertools import product

import torch

from kernels.case import (
    ALL,
    FLOATS,
    INTEGERS,
    REAL,
    Case,
    Refusal,
    broadcasts,
    for_dtypes,
    make_tensor,
    special_pairs,
    specials,
)

INTEGRAL = (torch.bool, *INTEGERS)
# Overloads of each family: name of the Tensor overload, of the Scalar overload, dtypes.
FAMILIES = {
    "add": ("out", "Scalar_out", ALL),
    "sub": ("out", "Scalar_out", REAL),
    "rsub": ("Tensor_out", "Scalar_out", REAL),
    "mul": ("out", "Scalar_out", ALL),
    "div": ("out", "Scalar_out", ALL),
    "atan2": ("out", None, ALL),
    "hypot": ("out", None, FLOATS),
    "maximum": ("out", None, ALL),
    "minimum": ("out", None, ALL),
    "logical_and": ("out", None, ALL),
    "logical_or": ("out", None, ALL),
    "logical_xor": ("out", None, ALL),
    "bitwise_and": ("Tensor_out", "Scalar_out", INTEGRAL),
    "bitwise_or": ("Tensor_out", "Scalar_out", INTEGRAL),
    "bitwise_xor": ("Tensor_out", "Scalar_out", INTEGRAL),
    "bitwise_left_shift": ("Tensor_out", "Tensor_Scalar_out", INTEGERS),
    "bitwise_right_shift": ("Tensor_out", "Tensor_Scalar_out", INTEGERS),
    **dict.fromkeys(["eq", "ne", "lt", "le", "gt", "ge"], ("Tensor_out", "Scalar_out", ALL)),
}
# Those that refuse an integer zero as divisor.
DIVISIONS = {
    "fmod": ("Tensor_out", "Scalar_out"),
    "remainder": ("Tensor_out", "Scalar_out"),
    "floor_divide": ("out", "Scalar_out"),
}
SCALARS = (3, -2, 2.5, True, 0)


def _divisors(dtype: torch.dtype) -> torch.Tensor:
    values = specials(dtype)
    return values if dtype.is_floating_point else values[values != 0]


def _dividends(dtype: torch.dtype) -> torch.Tensor:
    """Without values that eager divides wrongly, on x86.

    The smallest integer by -1 ends the process; the remainder of the largest floats is NaN when
    the quotient overflows.
    """
    values = specials(dtype)
    if dtype.is_floating_point:
        return values[values.abs() != torch.finfo(dtype).max]
    return values[values != torch.iinfo(dtype).min] if dtype.is_signed else values


def _smallest_by_minus_one(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.full((1,), torch.iinfo(dtype).min, dtype=dtype), torch.full((1,), -1, dtype=dtype)


def _accepts(dtypes: tuple[torch.dtype, ...], scalar: object, dtype: torch.dtype) -> bool:
    """Whether eager has the operator for a tensor of `dtype` and this number."""
    result = torch.result_type(torch.empty(1, dtype=dtype), scalar)
    return result in dtypes


def _family(name: str) -> list[Case]:
    tensor_overload, scalar_overload, dtypes = FAMILIES[name]
    tensor_name = f"aten::{name}.{tensor_overload}"
    cases = for_dtypes(tensor_name, dtypes, special_pairs)
    cases += [Case(tensor_name, pair) for pair in broadcasts(dtypes[-1])]
    for a, b in product(dtypes, dtypes):
        cases.append(Case(tensor_name, (make_tensor(3, 5, dtype=a), make_tensor(5, dtype=b))))
        cases.append(Case(tensor_name, (make_tensor(3, dtype=a), make_tensor(dtype=b, high=3))))
    if scalar_overload is None:
        return cases
    for dtype, scalar in product(dtypes, SCALARS):
        has_bool_operand = isinstance(scalar, bool) and name in ("sub", "rsub")
        if _accepts(dtypes, scalar, dtype) and not has_bool_operand:
            cases.append(Case(f"aten::{name}.{scalar_overload}", (specials(dtype), scalar)))
    return cases


def _division(name: str) -> list[Case]:
    tensor_overload, scalar_overload = DIVISIONS[name]
    tensor_name = f"aten::{name}.{tensor_overload}"
    cases = for_dtypes(
        tensor_name, REAL, lambda dtype: (_dividends(dtype).reshape(-1, 1), _divisors(dtype))
    )
    cases += [Case(tensor_name, pair) for pair in broadcasts(torch.float32)]
    for a, b in product(REAL, REAL):
        cases.append(Case(tensor_name, (make_tensor(3, 5, dtype=a), make_tensor(low=1, dtype=b))))
    for dtype, scalar in product(REAL, (3, -2, 2.5, -0.75, True)):
        if dtype == torch.uint8 and scalar == -2:
            continue
        cases.append(Case(f"aten::{name}.{scalar_overload}", (_dividends(dtype), scalar)))
    cases.append(Case(f"aten::{name}.{scalar_overload}", (specials(torch.float32), 0)))
    return cases


def _rounded_division(mode: str) -> list[Case]:
    rounding = {"rounding_mode": mode}
    return [
        *for_dtypes(
            "aten::div.out_mode",
            REAL,
            lambda d: (_dividends(d).reshape(-1, 1), _divisors(d)),
            kwargs=rounding,
        ),
        *[
            Case("aten::div.Scalar_mode_out", (specials(dtype), scalar), rounding)
            for dtype, scalar in product(REAL, (3, 2.5))
        ],
    ]


CASES = [
    *[case for name in FAMILIES for case in _family(name)],
    *[case for name in DIVISIONS for case in _division(name)],
    *_rounded_division("trunc"),
    *_rounded_division("floor"),
    Case("aten::div.out_mode", (make_tensor(3), make_tensor(3)), {"rounding_mode": None}),
    Case("aten::div.Scalar_mode_out", (specials(torch.int32), 4), {"rounding_mode": None}),
    # The smallest integer by -1 wraps, as its negation does.
    *for_dtypes(
        "aten::floor_divide.out",
        INTEGERS[1:],
        _smallest_by_minus_one,
        reference=lambda a, b: a.clone(),
    ),
    *[
        case
        for operator in ("aten::remainder.Tensor_out", "aten::fmod.Tensor_out")
        for case in for_dtypes(
            operator,
            INTEGERS[1:],
            _smallest_by_minus_one,
            reference=lambda a, b: torch.zeros_like(a),
        )
    ],
    # Unsigned dtypes, of which eager has few operators.
    *[
        Case(
            f"aten::{name}", (torch.tensor([7, 65535], dtype=dtype), torch.tensor([3], dtype=dtype))
        )
        for name in ["mul.out", "div.out", "eq.Tensor_out", "bitwise_xor.Tensor_out"]
        for dtype in (torch.uint16, torch.uint32)
    ],
    # alpha
    *[
        Case(f"aten::{name}.{overload}", (make_tensor(3, 5, dtype=dtype), other), {"alpha": 3})
        for name, overload, dtype in [
            ("add", "out", torch.int32),
            ("add", "out", torch.float16),
            ("sub", "out", torch.int8),
            ("sub", "out", torch.float64),
            ("rsub", "Tensor_out", torch.float32),
            ("rsub", "Tensor_out", torch.int64),
        ]
        for other in [make_tensor(5, dtype=dtype), make_tensor(dtype=torch.int16)]
    ],
    Case("aten::add.out", (make_tensor(3), make_tensor(3, seed=1)), {"alpha": 0.5}),
    Case("aten::add.out", (specials(torch.bool), specials(torch.bool)), {"alpha": True}),
    Case("aten::add.Scalar_out", (make_tensor(3), 2, 0.5)),
    Case("aten::sub.Scalar_out", (make_tensor(3, dtype=torch.int32), 2, 3)),
    Case("aten::rsub.Scalar_out", (make_tensor(3), 2.5, 3)),
    # Numbers that the dtype cannot hold wrap, as in eager.
    Case("aten::add.Scalar_out", (specials(torch.uint8), 300)),
    Case("aten::eq.Scalar_out", (torch.tensor([44, 3], dtype=torch.uint8), 300)),
    # Operands are compared in their common dtype, after rounding to it.
    Case("aten::eq.Tensor_out", (torch.tensor([2048.0]).half(), torch.tensor([2049]))),
    Case("aten::lt.Scalar_out", (torch.tensor([0.1]).bfloat16(), 0.1)),
    # The number on the left.
    *[
        Case(f"aten::{name}.Scalar_Tensor_out", (5, specials(dtype)))
        for name in [
            f"bitwise_{suffix}" for suffix in ["and", "or", "xor", "left_shift", "right_shift"]
        ]
        for dtype in INTEGERS
    ],
    *for_dtypes("aten::remainder.Scalar_Tensor_out", REAL, lambda dtype: (7, _divisors(dtype))),
    # Wider and other outputs.
    Case("aten::add.out", (make_tensor(3).half(), make_tensor(3).half()), out_dtype=torch.float32),
    Case("aten::mul.out", (make_tensor(3).int(), make_tensor(3).int()), out_dtype=torch.float64),
    Case("aten::div.out", (make_tensor(3).int(), make_tensor(3).int()), out_dtype=torch.bfloat16),
    Case("aten::lt.Tensor_out", (make_tensor(3), make_tensor(3, seed=1)), out_dtype=torch.uint8),
    Case("aten::mul.out", (make_tensor(40, 50), make_tensor(40, 1))),
    Case("aten::add.out", (make_tensor(300, 200).t(), make_tensor(200, 1))),
]

REFUSALS = [
    Refusal(
        "aten::add.out",
        (make_tensor(3, 2), make_tensor(4)),
        r"sizes \[3, 2\] and \[4\] do not broadcast",
        outputs=(torch.empty(3, 4),),
    ),
    Refusal(
        "aten::add.out",
        (make_tensor(3, dtype=torch.int32), make_tensor(3, dtype=torch.int32)),
        "alpha must be an integer",
        {"alpha": 0.5},
        outputs=(torch.empty(3, dtype=torch.int32),),
    ),
    Refusal(
        "aten::sub.out",
        (specials(torch.bool), specials(torch.bool)),
        "no subtraction of bool",
        outputs=(torch.empty(3, dtype=torch.bool),),
    ),
    Refusal(
        "aten::mul.out",
        (make_tensor(3), make_tensor(3)),
        "cannot be written to an output of int8",
        outputs=(torch.empty(3, dtype=torch.int8),),
    ),
    Refusal(
        "aten::div.out_mode",
        (make_tensor(3), make_tensor(3)),
        "rounding_mode must be None, 'trunc' or 'floor', got 'up'",
        {"rounding_mode": "up"},
        outputs=(torch.empty(3),),
    ),
    *[
        Refusal(
            f"aten::{name}.{overloads[0]}",
            (specials(torch.int32), torch.zeros(1, dtype=torch.int32)),
            "division by zero",
            outputs=(torch.empty(13, dtype=torch.int32),),
        )
        for name, overloads in DIVISIONS.items()
    ],
    Refusal(
        "aten::bitwise_and.Tensor_out",
        (make_tensor(3), make_tensor(3)),
        "dtype float32 is not supported",
        outputs=(torch.empty(3),),
    ),
]
