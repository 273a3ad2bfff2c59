"""Reductions: sums, means, variances, extremes, truth, cumulative sums, ordering."""

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

UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
NAN, INF = float("nan"), float("inf")


def _dims_of(tensor: torch.Tensor) -> list[list[int] | None]:
    """Lists of dimensions to reduce: none given, none listed, first, last, two."""
    lists: list[list[int] | None] = [None, [], [-1]]
    if tensor.dim() > 1:
        lists += [[0], [1, -tensor.dim()]]
    return lists


def _over_dims(operator: str, dtypes: tuple[torch.dtype, ...], **kwargs: object) -> list[Case]:
    """Every dtype on a cube, every layout in float32, each over all lists of dimensions."""
    inputs = [make_tensor(3, 5, 7, dtype=dtype) for dtype in dtypes]
    inputs += [*layouts(), make_tensor(5, 1, 3).expand(5, 4, 3)]
    return [
        Case(operator, (tensor, dims, keepdim), kwargs)
        for tensor in inputs
        for dims in _dims_of(tensor)
        for keepdim in (False, True)
    ]


def _along_dim(operator: str, dtypes: tuple[torch.dtype, ...]) -> list[Case]:
    inputs = [make_tensor(3, 5, 7, dtype=dtype) for dtype in dtypes] + layouts()
    return [
        Case(operator, (tensor, dim, keepdim))
        for tensor in inputs
        for dim in {0, -1, tensor.dim() // 2}
        for keepdim in (False, True)
    ]


def _reducing_something(cases: list[Case]) -> list[Case]:
    """Without those in which a largest element of nothing is asked for."""
    return [case for case in cases if case.args[0].numel() > 0 and case.args[1] is not None]


def _rows_of_specials(dtype: torch.dtype) -> torch.Tensor:
    """Rows with NaN first, last and twice, ties, all -Inf, all +Inf, mixed infinities."""
    rows = [
        [NAN, 1, 2, 3],
        [1, 2, 3, NAN],
        [1, NAN, 5, NAN],
        [4, 7, 7, 4],
        [-INF, -INF, -INF, -INF],
        [INF, INF, 1, INF],
        [INF, -INF, 0, 1],
        [-0.0, 0.0, -0.0, 0.0],
    ]
    return torch.tensor(rows, dtype=dtype)


_WITH_TIES = torch.tensor([[3, 1, 3, 1], [2, 2, 2, 2], [0, 5, 5, 0]])


def _offset(count: int, dtype: torch.dtype) -> torch.Tensor:
    """Values near 1000 whose sum a plain running sum gets wrong."""
    return make_tensor(count, dtype=torch.float64, low=999, high=1001).to(dtype)


_SUMS = [
    *_over_dims("aten::sum.IntList_out", (*ALL, *UNSIGNED)),
    *for_dtypes("aten::sum.IntList_out", FLOATS, lambda d: (_rows_of_specials(d), [1])),
    *for_dtypes("aten::sum.IntList_out", ALL, lambda d: (specials(d)[3:-5], [0])),
    *[
        Case("aten::sum.IntList_out", (make_tensor(3, 5, dtype=source), [1]), {"dtype": target})
        for source in (torch.float32, torch.int32, torch.bool)
        for target in ALL
    ],
    Case(
        "aten::sum.IntList_out",
        (_offset(100_003, torch.float32), None),
        reference=lambda x, dim: x.double().sum().float(),
    ),
    Case(
        "aten::sum.IntList_out",
        (torch.tensor([2**62, 2**62, 2**62, -5]), [0]),  # wraps
    ),
    *_over_dims("aten::mean.out", FLOATS),
    *for_dtypes("aten::mean.out", FLOATS, lambda d: (_rows_of_specials(d), [1])),
    *[
        Case("aten::mean.out", (make_tensor(3, 5, dtype=source), [0]), {"dtype": target})
        for source in (torch.int32, torch.float16, torch.float64, torch.bool)
        for target in FLOATS
    ],
    *for_dtypes(
        "aten::mean.out",
        (torch.float32, torch.float64),
        lambda d: (_offset(100_003, d), [0]),
        reference=lambda x, dim: x.double().mean().to(x.dtype),
    ),
    *for_dtypes("aten::mean.dtype_out", FLOATS, lambda d: (make_tensor(3, 5, 7, dtype=d),)),
    *[Case("aten::mean.dtype_out", (tensor,)) for tensor in layouts()],
    Case("aten::mean.dtype_out", (make_tensor(7, dtype=torch.int64),), {"dtype": torch.float64}),
]

_PRODUCTS = [
    *[
        Case("aten::prod.int_out", (make_tensor(3, 5, dtype=dtype, low=-3, high=3), dim, keepdim))
        for dtype in (*ALL, *UNSIGNED)
        for dim in (0, -1)
        for keepdim in (False, True)
    ],
    *[Case("aten::prod.int_out", (tensor, -1)) for tensor in layouts()],
    *for_dtypes("aten::prod.int_out", FLOATS, lambda d: (_rows_of_specials(d), 1)),
    Case("aten::prod.int_out", (make_tensor(3, 5), 1), {"dtype": torch.int32}),
    Case("aten::prod.int_out", (torch.tensor([1e30, 1e30, 1e-30]), 0)),
    *for_dtypes("aten::prod.out", (*ALL, *UNSIGNED), lambda d: (make_tensor(3, 4, dtype=d),)),
    *[Case("aten::prod.out", (tensor,)) for tensor in layouts()[:6]],
    Case("aten::prod.out", (make_tensor(7, dtype=torch.int8),), {"dtype": torch.float32}),
]

_VARIANCES = [
    *_over_dims("aten::var.correction_out", FLOATS, correction=1)[::2],
    *_over_dims("aten::var.correction_out", FLOATS, correction=0)[1::2],
    *[
        Case("aten::var.correction_out", (make_tensor(4, 5), [1]), {"correction": correction})
        for correction in (0, 1, 2.5, 5, 7, None)
    ],
    Case("aten::var.correction_out", (make_tensor(3, 5),)),
    *for_dtypes("aten::var.correction_out", FLOATS, lambda d: (_rows_of_specials(d), [1])),
    Case(
        "aten::var.correction_out",
        (make_tensor(9973, dtype=torch.float32) + 1e4, [0]),
        reference=lambda x, dim: x.double().var().float(),
    ),
    *for_dtypes("aten::var.out", FLOATS, lambda d: (make_tensor(3, 5, 7, dtype=d), [0, 2], False)),
    *[Case("aten::var.out", (tensor, [-1], True, True)) for tensor in layouts()],
    *for_dtypes(
        "aten::var_mean.correction_out",
        FLOATS,
        lambda d: (make_tensor(3, 5, 7, dtype=d), [1]),
        kwargs={"correction": 1, "keepdim": True},
    ),
    *[Case("aten::var_mean.correction_out", (tensor, [0])) for tensor in layouts()],
]


def _without_keepdim_position(cases: list[Case]) -> list[Case]:
    """`var` takes keepdim by keyword only."""
    return [
        Case(case.operator, case.args[:2], {**case.kwargs, "keepdim": case.args[2]})
        if case.operator == "aten::var.correction_out" and len(case.args) == 3
        else case
        for case in cases
    ]


_EXTREMES = [
    *[
        case
        for name in ("aten::amax.out", "aten::amin.out")
        for case in [
            *_reducing_something(_over_dims(name, ALL)),
            *for_dtypes(name, ALL, lambda d: (specials(d), [0])),
            *for_dtypes(name, FLOATS, lambda d: (_rows_of_specials(d), [1])),
            Case(name, (make_tensor(0, 3), [1])),
            Case(name, (make_tensor(5, 3),)),
        ]
    ],
    *[
        case
        for name in ("aten::max.dim_max", "aten::min.dim_min")
        for case in [
            *_reducing_something(_along_dim(name, ALL)),
            *for_dtypes(name, FLOATS, lambda d: (_rows_of_specials(d), 1)),
            *for_dtypes(name, REAL, lambda d: (_WITH_TIES.to(d), 1)),
            Case(name, (make_tensor(0, 3), 1)),
        ]
    ],
    *[
        case
        for name in ("aten::max.unary_out", "aten::min.unary_out")
        for case in [
            *for_dtypes(name, ALL, lambda d: (make_tensor(3, 5, dtype=d),)),
            *for_dtypes(name, ALL, lambda d: (specials(d),)),
            *for_dtypes(name, FLOATS, lambda d: (specials(d)[1:],)),
            *[Case(name, (tensor,)) for tensor in layouts() if tensor.numel() > 0],
        ]
    ],
    *[
        case
        for name in ("aten::argmax.out", "aten::argmin.out")
        for case in [
            *_reducing_something(_along_dim(name, REAL)),
            *for_dtypes(name, FLOATS, lambda d: (_rows_of_specials(d), 1)),
            *for_dtypes(name, REAL, lambda d: (_WITH_TIES.to(d), 1)),
            *for_dtypes(name, REAL, lambda d: (_WITH_TIES.to(d), None, True)),
            *[Case(name, (tensor,)) for tensor in layouts() if tensor.numel() > 0],
            Case(name, (make_tensor(0, 3), 1)),
        ]
    ],
]

_TRUTHS = [
    *_along_dim("aten::any.out", (*ALL, *UNSIGNED)),
    *_along_dim("aten::all.out", (*ALL, *UNSIGNED)),
    *_over_dims("aten::any.dims_out", (*ALL, *UNSIGNED)),
    *_over_dims("aten::all.dims_out", (*ALL, *UNSIGNED)),
    *[
        case
        for name in ("aten::any.all_out", "aten::all.all_out")
        for case in [
            *for_dtypes(name, ALL, lambda d: (specials(d),)),
            *for_dtypes(name, ALL, lambda d: (torch.zeros(3, 2, dtype=d),)),
            *[Case(name, (tensor,)) for tensor in layouts()],
        ]
    ],
]

_CUMULATIVE = [
    case
    for name in ("aten::cumsum.out", "aten::cumprod.out")
    for case in [
        *[
            Case(name, (make_tensor(3, 5, dtype=dtype, low=-2, high=2), dim))
            for dtype in (*ALL, *UNSIGNED, torch.complex64, torch.complex128)
            for dim in (0, -1)
        ],
        *[Case(name, (tensor, -1)) for tensor in layouts()],
        *for_dtypes(name, FLOATS, lambda d: (_rows_of_specials(d), 1)),
        Case(name, (make_tensor(3, 5, low=-2, high=2), 1), {"dtype": torch.float64}),
        Case(
            name, (make_tensor(3, 5, dtype=torch.int32, low=-2, high=2), 0), {"dtype": torch.int8}
        ),
    ]
]


def _distinct(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    count = torch.Size(shape).numel()
    order = torch.randperm(count, generator=torch.Generator().manual_seed(count))
    return order.reshape(shape).to(dtype)


_ORDERINGS = [
    *[
        Case("aten::topk.values", (tensor, k, dim, largest))
        for dtype in REAL
        for tensor in (_distinct(3, 7, 5, dtype=dtype), _distinct(5, 7, 3, dtype=dtype).mT)
        for dim in (0, -1)
        for k in (0, 1, 3)
        for largest in (True, False)
    ],
    Case("aten::topk.values", (make_tensor(), 1)),
    Case("aten::topk.values", (torch.tensor([1.0, NAN, 3.0, -INF, INF]), 3)),
    Case("aten::topk.values", (torch.tensor([1.0, NAN, 3.0, -INF, INF]), 3, 0, False)),
    *[
        Case("aten::sort.values_stable", (tensor,), {"stable": True, "dim": -1, "descending": down})
        for tensor in [
            *[make_tensor(3, 9, dtype=dtype, low=-3, high=3) for dtype in (*ALL, *UNSIGNED)],
            *[_rows_of_specials(dtype) for dtype in FLOATS],
            *layouts(),
        ]
        for down in (False, True)
    ],
    *for_dtypes("aten::sort.values", ALL, lambda d: (_distinct(3, 7, 5, dtype=d)[..., :1], 2)),
    *for_dtypes("aten::sort.values", REAL, lambda d: (_distinct(3, 7, 5, dtype=d), 1, True)),
    *for_dtypes("aten::median.dim_values", REAL, lambda d: (_distinct(3, 6, 5, dtype=d), 1)),
    *for_dtypes("aten::median.dim_values", REAL, lambda d: (_distinct(3, 7, dtype=d), 0, True)),
    Case("aten::median.dim_values", (torch.tensor([[1.0, NAN, 3.0], [INF, -INF, 0.0]]), 1)),
    *for_dtypes("aten::median.out", REAL, lambda d: (make_tensor(3, 5, dtype=d),)),
    *[Case("aten::median.out", (tensor,)) for tensor in layouts()],
    Case("aten::median.out", (torch.tensor([1.0, NAN, 3.0]),)),
]

CASES = [
    *_SUMS,
    *_PRODUCTS,
    *_without_keepdim_position(_VARIANCES),
    *_EXTREMES,
    *_TRUTHS,
    *_CUMULATIVE,
    *_ORDERINGS,
]


def _longs(*shape: int) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.int64)


REFUSALS = [
    Refusal(
        "aten::amax.out",
        (make_tensor(0, 3), [0]),
        "dimension 0 .* is empty",
        outputs=(make_tensor(3),),
    ),
    Refusal("aten::argmax.out", (make_tensor(0),), "no element", outputs=(_longs(),)),
    Refusal("aten::max.unary_out", (make_tensor(0),), "no element", outputs=(make_tensor(),)),
    Refusal(
        "aten::sum.IntList_out", (make_tensor(3, 5), [1, -1]), "twice", outputs=(make_tensor(3),)
    ),
    Refusal(
        "aten::sum.IntList_out", (make_tensor(3, 5), [2]), "out of range", outputs=(make_tensor(3),)
    ),
    Refusal(
        "aten::sum.IntList_out", (make_tensor(3, 5), [1]), "size|rank", outputs=(make_tensor(3, 1),)
    ),
    Refusal("aten::mean.out", (make_tensor(3), [0]), "floating", outputs=(_longs(),)),
    Refusal("aten::var.out", (_longs(3), [0]), "floating", outputs=(make_tensor(),)),
    Refusal("aten::argmax.out", (make_tensor(3),), "int64", outputs=(make_tensor(),)),
    Refusal(
        "aten::max.dim_max", (make_tensor(3), 0), "indices", outputs=(make_tensor(), make_tensor())
    ),
    Refusal("aten::amax.out", (make_tensor(3), [0]), "out must be float32", outputs=(_longs(),)),
    Refusal("aten::any.all_out", (make_tensor(3),), "bool", outputs=(make_tensor(),)),
    Refusal("aten::cumsum.out", (make_tensor(3), 1), "out of range", outputs=(make_tensor(3),)),
    Refusal("aten::topk.values", (make_tensor(3), 4), "k=4", outputs=(make_tensor(4), _longs(4))),
    Refusal("aten::topk.values", (make_tensor(3), -1), "k=-1", outputs=(make_tensor(3), _longs(3))),
]
