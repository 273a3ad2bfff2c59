"""Powers, limits, selection: operators of two or three operands with rules of their own."""

from itertools import product

import torch

from kernels.case import ALL, FLOATS, REAL, Case, Refusal, for_dtypes, make_tensor, specials

NAN = float("nan")
MASK = make_tensor(3, 5, dtype=torch.bool)


def _bases(dtype: torch.dtype) -> torch.Tensor:
    return specials(dtype).reshape(-1, 1)


CASES = [
    *for_dtypes("aten::pow.Tensor_Tensor_out", REAL, lambda d: (_bases(d), specials(d))),
    *[
        Case(
            "aten::pow.Tensor_Tensor_out",
            (make_tensor(3, 5, dtype=a, low=1), make_tensor(5, dtype=b)),
        )
        for a, b in product(REAL, REAL)
    ],
    *[
        Case("aten::pow.Tensor_Scalar_out", (specials(dtype), exponent))
        for dtype, exponent in product(REAL, (0, 1, 2, 3, 2.5, 0.5, -0.5))
    ],
    *[
        Case("aten::pow.Tensor_Scalar_out", (specials(dtype), exponent))
        for dtype, exponent in product(FLOATS, (-1, -2, True))
    ],
    Case("aten::pow.Tensor_Scalar_out", (specials(torch.bool), True)),
    Case("aten::pow.Tensor_Scalar_out", (specials(torch.bool), 2)),
    *[
        Case("aten::pow.Scalar_out", (base, specials(dtype)))
        for dtype, base in product(REAL, (1, 2, -1, 0, 2.5))
    ],
    # Limits.
    *[
        Case("aten::clamp.out", (specials(dtype), low, high))
        for dtype in REAL
        for low, high in [(1, 3), (1, None), (None, 2), (0.5, 2.5), (3, 1), (True, None)]
    ],
    *[
        Case("aten::clamp.out", (specials(dtype), low, high))
        for dtype in FLOATS
        for low, high in [(-1, NAN), (NAN, None), (-float("inf"), 2), (-0.75, 0.25)]
    ],
    Case("aten::clamp.out", (specials(torch.bool), 0, 1)),
    *for_dtypes(
        "aten::clamp.Tensor_out",
        REAL,
        lambda d: (_bases(d), make_tensor(5, dtype=d), make_tensor(5, dtype=d, seed=1)),
    ),
    Case("aten::clamp.Tensor_out", (make_tensor(3, 5).int(), make_tensor(5), None)),
    Case("aten::clamp.Tensor_out", (make_tensor(3, 5), None, specials(torch.float32)[:5])),
    Case("aten::clamp.Tensor_out", (make_tensor(1, 5), make_tensor(3, 1), make_tensor(2, 1, 1))),
    # Selection.
    *[
        Case("aten::where.self_out", (MASK, make_tensor(3, 5, dtype=a), make_tensor(5, dtype=b)))
        for a, b in product(ALL, ALL)
    ],
    *for_dtypes(
        "aten::where.self_out", ALL, lambda d: (specials(d) > 0, specials(d), specials(d).flip(0))
    ),
    Case("aten::where.self_out", (MASK.byte(), make_tensor(3, 1), make_tensor(5).double()[0])),
    Case("aten::where.self_out", (MASK[:, :1], make_tensor(5), make_tensor(2, 1, 1))),
    *for_dtypes(
        "aten::masked_fill.Scalar_out", ALL, lambda d: (make_tensor(3, 5, dtype=d), MASK, 1)
    ),
    *for_dtypes(
        "aten::masked_fill.Tensor_out",
        ALL,
        lambda d: (make_tensor(3, 5, dtype=d), MASK, torch.tensor(2.5)),
    ),
    Case("aten::masked_fill.Scalar_out", (make_tensor(5).half(), MASK, -float("inf"))),
    Case("aten::masked_fill.Scalar_out", (make_tensor(3, 1), MASK[0], NAN)),
    Case("aten::masked_fill.Scalar_out", (make_tensor(5).int(), MASK[0], 2.5)),
    Case("aten::masked_fill.Scalar_out", (make_tensor(5, dtype=torch.uint8), MASK[0], -5)),
    # Three operands.
    *for_dtypes(
        "aten::addcmul.out",
        REAL,
        lambda d: (make_tensor(3, 5, dtype=d), make_tensor(5, dtype=d), make_tensor(3, 1, dtype=d)),
        kwargs={"value": 3},
    ),
    *for_dtypes(
        "aten::addcdiv.out",
        FLOATS,
        lambda d: (
            make_tensor(3, 5, dtype=d),
            make_tensor(5, dtype=d),
            make_tensor(3, 1, dtype=d, low=1),
        ),
        kwargs={"value": 0.5},
    ),
    Case("aten::addcmul.out", (make_tensor(3).int(), make_tensor(3).int(), make_tensor(3))),
]

REFUSALS = [
    Refusal(
        "aten::pow.Tensor_Scalar_out",
        (specials(torch.int32), -1),
        "integers to the negative power -1",
        outputs=(torch.empty(13, dtype=torch.int32),),
    ),
    Refusal(
        "aten::clamp.out",
        (specials(torch.uint8), -300),
        "does not fit uint8",
        outputs=(torch.empty(9, dtype=torch.uint8),),
    ),
    Refusal("aten::clamp.out", (make_tensor(3),), "at least one", outputs=(torch.empty(3),)),
    Refusal(
        "aten::where.self_out",
        (make_tensor(3), make_tensor(3), make_tensor(3)),
        "condition must be bool",
        outputs=(torch.empty(3),),
    ),
    Refusal(
        "aten::masked_fill.Scalar_out",
        (make_tensor(3).half(), MASK[0, :3], 1e6),
        "does not fit float16",
        outputs=(torch.empty(3).half(),),
    ),
    Refusal(
        "aten::addcdiv.out",
        (make_tensor(3).int(), make_tensor(3).int(), make_tensor(3).int()),
        "dtype int32 is not supported",
        outputs=(torch.empty(3).int(),),
    ),
]
