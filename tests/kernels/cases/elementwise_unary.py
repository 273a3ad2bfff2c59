"""Unary operators: every dtype on special values, every layout, wider outputs, refusals."""

import torch

from kernels.case import (
    ALL,
    FLOATS,
    INTEGERS,
    REAL,
    Case,
    Refusal,
    for_dtypes,
    layouts,
    make_tensor,
    specials,
)

TO_FLOAT = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "erf",
    "exp",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "reciprocal",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "logit",
]
ROUNDING = ["ceil", "floor", "round", "trunc"]
TO_BOOL = ["isnan", "isinf", "logical_not"]


def _moderate(dtype: torch.dtype) -> torch.Tensor:
    """Special values without those on which two good implementations of gelu and mish differ."""
    values = specials(dtype)
    return values[torch.isnan(values) | (values.abs() < 1e3)]


def _cases() -> list[Case]:
    cases = []
    for names, dtypes in [
        (TO_FLOAT, ALL),
        (ROUNDING, REAL),
        (TO_BOOL, ALL),
        (["neg", "abs", "relu"], REAL),
        (["sign"], ALL),
        (["bitwise_not"], (torch.bool, *INTEGERS)),
        (["leaky_relu", "hardsigmoid", "elu"], FLOATS),
        (["hardtanh"], (*INTEGERS[1:], *FLOATS)),
    ]:
        for name in names:
            cases += for_dtypes(f"aten::{name}.out", dtypes, lambda dtype: (specials(dtype),))
    for name in ["silu", "mish", "softplus", "hardswish", "gelu"]:
        cases += for_dtypes(f"aten::{name}.out", FLOATS, lambda dtype: (_moderate(dtype),))
    for name in ["exp", "relu", "isnan", "floor"]:
        cases += [Case(f"aten::{name}.out", (tensor,)) for tensor in layouts()]
        cases += [Case(f"aten::{name}.out", (make_tensor(3, 700, dtype=torch.float16).t(),))]
    return cases


CASES = [
    *_cases(),
    *[
        Case(f"aten::{name}.out", (torch.tensor([0, 1, 40000], dtype=dtype),))
        for name in ["exp", "ceil", "isnan"]
        for dtype in (torch.uint16, torch.uint32)
    ],
    # An output wider than the result, which is rounded to its own dtype first.
    Case("aten::exp.out", (make_tensor(7, dtype=torch.float16),), out_dtype=torch.float32),
    Case("aten::exp.out", (make_tensor(7, dtype=torch.bfloat16),), out_dtype=torch.float64),
    Case("aten::exp.out", (make_tensor(7, dtype=torch.int32),), out_dtype=torch.float64),
    Case("aten::exp.out", (make_tensor(7, dtype=torch.int64),), out_dtype=torch.float16),
    Case("aten::logical_not.out", (specials(torch.float32),), out_dtype=torch.int64),
    # Parameters.
    *for_dtypes(
        "aten::gelu.out", FLOATS, lambda d: (_moderate(d),), kwargs={"approximate": "tanh"}
    ),
    *for_dtypes("aten::logit.out", ALL, lambda dtype: (specials(dtype), 0.125)),
    Case("aten::logit.out", (make_tensor(3, 5, low=0, high=1), 0.75)),
    Case("aten::elu.out", (make_tensor(3, 5), 2, 3.0, 0.5)),
    Case("aten::elu.out", (specials(torch.float64), 0.5)),
    Case("aten::leaky_relu.out", (specials(torch.float32), 2)),
    Case("aten::leaky_relu.out", (specials(torch.float32), -0.5)),
    Case("aten::softplus.out", (specials(torch.float32), 0.5, 3)),
    Case("aten::softplus.out", (make_tensor(3, 5), 2, 1)),
    Case("aten::hardtanh.out", (specials(torch.float32), 3, 2)),
    Case("aten::hardtanh.out", (specials(torch.int32), 0.5, 3.5)),
    Case("aten::hardtanh.out", (specials(torch.uint8), 0, 6)),
    *for_dtypes("aten::glu.out", FLOATS, lambda dtype: (make_tensor(3, 4, 2, dtype=dtype), 1)),
    Case("aten::glu.out", (make_tensor(3, 4),)),
    Case("aten::glu.out", (make_tensor(4, 3).t(), -1)),
    Case("aten::glu.out", (make_tensor(4, 0), 0)),
]

REFUSALS = [
    Refusal("aten::tan.out", (make_tensor(3),), "cannot be resized", outputs=(torch.empty(2, 2),)),
    Refusal("aten::tan.out", (make_tensor(3),), "bound given", outputs=(torch.empty(2),)),
    Refusal(
        "aten::exp.out",
        (make_tensor(3, dtype=torch.int64),),
        "float32 and cannot be written to an output of int64",
        outputs=(torch.empty(3, dtype=torch.int64),),
    ),
    Refusal(
        "aten::neg.out",
        (specials(torch.bool),),
        "dtype bool is not supported",
        outputs=(torch.empty(3, dtype=torch.bool),),
    ),
    Refusal(
        "aten::gelu.out",
        (make_tensor(3, dtype=torch.int32),),
        "aten::gelu.out: dtype int32 is not supported",
        outputs=(torch.empty(3, dtype=torch.int32),),
    ),
    Refusal(
        "aten::gelu.out",
        (make_tensor(3),),
        "must be 'none' or 'tanh', got 'sigmoid'",
        {"approximate": "sigmoid"},
        outputs=(torch.empty(3),),
    ),
    Refusal("aten::glu.out", (make_tensor(3),), "must be even", outputs=(torch.empty(1),)),
    Refusal(
        "aten::glu.out",
        (make_tensor(4), 2),
        "dimension 2 is out of range for rank 1",
        outputs=(torch.empty(2),),
    ),
    Refusal(
        "aten::hardtanh.out",
        (specials(torch.uint8), -1, 6),
        "must not be negative",
        outputs=(torch.empty(9, dtype=torch.uint8),),
    ),
    Refusal("aten::abs.out", (make_tensor(3),), "dense", outputs=(torch.empty(6)[::2],)),
]
