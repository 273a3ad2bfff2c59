"""Operators that make tensors or copy them whole: fill, full, arange, clone, casts."""

from itertools import product
from typing import Any

import torch

from kernels.case import (
    ALL,
    FLOATS,
    REAL,
    Case,
    Refusal,
    for_dtypes,
    layouts,
    make_tensor,
    specials,
)

STORED = (*ALL, torch.uint16, torch.uint32, torch.uint64)
COPIES = ["clone", "alias_copy", "detach_copy", "lift_fresh_copy", "_conj_physical"]
NHWC = [0, 2, 3, 1]


def _stored(dtype: torch.dtype) -> torch.Tensor:
    if dtype in ALL:
        return specials(dtype)
    return torch.tensor([0, 1, 7, torch.iinfo(dtype).max], dtype=torch.uint64).to(dtype)


def _in_dim_order(tensor: torch.Tensor, dim_order: list[int] | None) -> torch.Tensor:
    if dim_order == NHWC:
        return tensor.contiguous(memory_format=torch.channels_last)
    return tensor.contiguous()


def _to_dim_order_copy(self: torch.Tensor, *, dim_order: list[int] | None = None) -> torch.Tensor:
    return _in_dim_order(self, dim_order)


def _zeros(size: list[int], **_: Any) -> torch.Tensor:
    return torch.zeros(size)


EMPTY_DIM_ORDER = (
    "dim_order_ops::_empty_dim_order.out"
    "(int[] size, *, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)"
)
COPY_SCHEMA = (
    "(Tensor self, *, bool non_blocking=False, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)"
)
DEVICE_COPY_SCHEMA = ".out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"
TO_DIM_ORDER_COPY = f"dim_order_ops::_to_dim_order_copy.out{COPY_SCHEMA}"
CLONE_DIM_ORDER = f"dim_order_ops::_clone_dim_order.out{COPY_SCHEMA}"

CASES = [
    *[
        Case(f"aten::{name}.out", (_stored(dtype),))
        for name, dtype in product(COPIES, STORED)
        if name != "_conj_physical" or dtype in ALL
    ],
    *[Case(f"aten::{name}.out", (tensor,)) for name in COPIES for tensor in layouts()],
    *[
        Case(f"et_copy::{name}{DEVICE_COPY_SCHEMA}", (tensor,), reference=torch.clone)
        for name in ("_h2d_copy", "_d2h_copy")
        for tensor in (make_tensor(3, 5), make_tensor(3, dtype=torch.int64))
    ],
    # Random numbers: tests/kernels/test_random.py looks at their values.
    Case("aten::rand.out", ([0, 3],)),
    Case("aten::randn.out", ([3, 0],)),
    # Casts: every dtype to every other.
    *[
        Case("aten::_to_copy.out", (_stored(source),), out_dtype=target)
        for source, target in product(STORED, STORED)
        if not (source in FLOATS and target in STORED[-3:])
    ],
    *[Case("aten::_to_copy.out", (tensor,), out_dtype=torch.float16) for tensor in layouts()],
    *[
        Case(
            TO_DIM_ORDER_COPY,
            (make_tensor(2, 3, 5, 7, dtype=source),),
            {"dim_order": dim_order},
            reference=_to_dim_order_copy,
            out_dtype=target,
        )
        for source, target in [(torch.float32, torch.float16), (torch.int64, torch.float32)]
        for dim_order in [None, [0, 1, 2, 3]]
    ],
    Case(
        CLONE_DIM_ORDER,
        (make_tensor(2, 3, 5, 7).contiguous(memory_format=torch.channels_last),),
        {"dim_order": [0, 1, 2, 3]},
        reference=_to_dim_order_copy,
    ),
    Case(EMPTY_DIM_ORDER, ([3, 5],), {"dim_order": [0, 1]}, reference=_zeros),
    Case("aten::empty.out", ([3, 5],), reference=_zeros),
    # copy
    *[
        Case("aten::copy.out", (make_tensor(3, 5, dtype=a), make_tensor(5, dtype=b)))
        for a, b in product(ALL, ALL)
    ],
    *[
        Case("aten::copy_", (make_tensor(3, 5, dtype=a), make_tensor(3, 1, dtype=b)))
        for a, b in product(ALL, ALL)
    ],
    Case("aten::copy_", (make_tensor(3, 5), make_tensor(5, 3).t())),
    # fill
    *for_dtypes("aten::fill.Scalar_out", ALL, lambda d: (make_tensor(3, 5, dtype=d), 2)),
    *for_dtypes("aten::fill.Scalar_out", ALL, lambda d: (make_tensor(3, 5, dtype=d), 2.7)),
    *for_dtypes(
        "aten::fill.Tensor_out", ALL, lambda d: (make_tensor(3, dtype=d), torch.tensor(3.7))
    ),
    Case("aten::fill.Scalar_out", (make_tensor(3), float("-inf"))),
    *[Case("aten::fill.Scalar_out", (tensor, 1.5)) for tensor in layouts()],
    *[
        Case("aten::full.out", ([3, 5], value), out_dtype=dtype)
        for dtype, value in product(ALL, (0, 2, 2.7, True))
    ],
    *for_dtypes("aten::full_like.out", ALL, lambda d: (make_tensor(3, 0, dtype=d), 2)),
    *for_dtypes("aten::full_like.out", ALL, lambda d: (make_tensor(3, 5, dtype=d), 2)),
    *[Case(f"aten::{n}.out", ([2, 3],), out_dtype=d) for n, d in product(("zeros", "ones"), ALL)],
    Case("aten::zeros.out", ([],)),
    *[
        Case("aten::scalar_tensor.out", (value,), out_dtype=dtype)
        for dtype, value in product(ALL, (3, 2.7, True))
    ],
    # arange
    *[
        Case("aten::arange.start_out", arguments, out_dtype=dtype)
        for dtype in REAL
        for arguments in [(0, 5), (2, 9, 3), (0, 0), (0.5, 5), (1, 4.5, 2), (0, 2.5), (0, 1, 1)]
    ],
    *[
        Case("aten::arange.start_out", arguments, out_dtype=dtype)
        for dtype in (torch.float32, torch.float64)
        for arguments in [(0, 1, 0.1), (5, -3, -0.7), (1e6, 1e6 + 3, 0.25)]
    ],
    Case("aten::arange.start_out", (5, 0, -2), out_dtype=torch.int32),
    Case("aten::arange.start_out", (2**53, 2**53 + 3), out_dtype=torch.int64),
    Case("aten::arange.start_out", (0, 300), out_dtype=torch.uint8),
    *[Case("aten::arange.out", (end,), out_dtype=dtype) for dtype in REAL for end in (0, 7, 3.5)],
    # dropout in inference
    *for_dtypes(
        "aten::native_dropout.out", ALL, lambda d: (make_tensor(3, 5, dtype=d), 0.5, False)
    ),
    Case("aten::native_dropout.out", (make_tensor(3, 5), 0.0, False)),
]

REFUSALS = [
    Refusal("aten::full.out", ([3], 300), "does not fit uint8", outputs=(torch.empty(3).byte(),)),
    Refusal("aten::full.out", ([-3], 1), "negative", outputs=(torch.empty(3),)),
    Refusal("aten::full.out", ([2**40, 2**40], 1), "memory", outputs=(torch.empty(3, 1),)),
    Refusal("aten::arange.out", (2**62,), "memory", outputs=(torch.empty(3),)),
    Refusal("aten::arange.start_out", (0, 5, 0), "zero", outputs=(torch.empty(3),)),
    Refusal("aten::arange.start_out", (0, 5, -1), "leads away", outputs=(torch.empty(3),)),
    Refusal("aten::arange.out", (float("nan"),), "not finite", outputs=(torch.empty(3),)),
    Refusal("aten::arange.out", (3,), "rank 1", outputs=(torch.empty(3, 1),)),
    Refusal(
        "aten::copy.out",
        (make_tensor(3), make_tensor(4)),
        r"sizes \[4\] do not broadcast to \[3\]",
        outputs=(torch.empty(3),),
    ),
    Refusal("aten::copy_", (make_tensor(3), make_tensor(2, 3)), "do not broadcast"),
    Refusal(
        "aten::clone.out",
        (make_tensor(3),),
        "one dtype",
        outputs=(torch.empty(3, dtype=torch.int32),),
    ),
    Refusal(
        TO_DIM_ORDER_COPY,
        (make_tensor(2, 3, 5, 7),),
        r"dim order \[0, 2, 3, 1\]",
        {"dim_order": NHWC},
        outputs=(torch.empty(2, 3, 5, 7),),
    ),
    Refusal(
        "aten::native_dropout.out",
        (make_tensor(3), 0.5, True),
        "training mode",
        outputs=(torch.empty(3), torch.empty(3, dtype=torch.bool)),
    ),
]
