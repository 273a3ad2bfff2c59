"""Reductions, softmax, normalizations and poolings of the optimized library."""

from typing import Any

import torch

from kernels.case import Case, make_tensor, specials

FLOAT = torch.float32
NAN, INF = float("nan"), float("inf")


def rows() -> list[torch.Tensor]:
    """Rows of every tail, longer than a block, and with special values."""
    special = specials(FLOAT).reshape(1, -1)
    return [
        *(make_tensor(3, length) for length in (1, 5, 16, 37)),
        make_tensor(2, 5003),
        special,
        torch.tensor([[-INF, -INF, -INF], [INF, 1.0, 2.0], [NAN, 1.0, 2.0], [1.0, -INF, 3.0]]),
    ]


def reductions(name: str, *, takes_none: bool) -> list[Case]:
    image = make_tensor(2, 3, 5, 7)
    cases = [
        *(Case(name, (x, [-1])) for x in rows()),
        Case(name, (image, [2, 3], True)),
        Case(name, (image, [0])),
        Case(name, (image, [1, -2])),
        Case(name, (image, [])),
        Case(name, (make_tensor(300, 21), [0])),
        Case(name, (make_tensor(2, 70, 530), [1], True)),
    ]
    return [*cases, Case(name, (image, None))] if takes_none else cases


def pooled(name: str, image: torch.Tensor, *window: object) -> Case:
    return Case(name, (image, *window))


def poolings() -> list[Case]:
    image, wide = make_tensor(2, 3, 11, 9), make_tensor(1, 2, 7, 50)
    ties = make_tensor(1, 4, 9, 9, low=0, high=3).floor()
    odd = ties.clone()
    odd[0, 1, 2:4, 3:5] = NAN
    odd[0, 2] = -INF
    maximum, mean = "aten::max_pool2d_with_indices.out", "aten::avg_pool2d.out"
    return [
        pooled(maximum, image, [3, 3], [2, 2], [1, 1]),
        pooled(maximum, wide, [2, 2]),
        pooled(maximum, wide, [3], [1], [1]),
        pooled(maximum, image, [3, 2], [2, 3], [1, 0], [2, 1]),
        pooled(maximum, image, [3, 3], [2, 2], [0, 0], [1, 1], True),
        pooled(maximum, make_tensor(3, 6, 5), [2, 2], [2, 2], [1, 1], [1, 1], True),
        pooled(maximum, ties, [3, 3], [1, 1], [1, 1]),
        pooled(maximum, odd, [3, 3], [2, 2], [1, 1]),
        pooled(mean, image, [3, 3], [2, 2], [1, 1]),
        pooled(mean, wide, [2, 2]),
        pooled(mean, image, [3, 2], [1, 1], [0, 0], False, False),
        pooled(mean, image, [3, 3], [3, 2], [1, 1], False, False, 5),
        pooled(mean, odd, [2, 2], [1, 1]),
    ]


def layer_norm_in_double(x: torch.Tensor, *args: Any) -> tuple[torch.Tensor, ...]:
    """What eager would compute if its float32 mean did not round."""
    values = [arg.double() if isinstance(arg, torch.Tensor) else arg for arg in (x, *args)]
    return tuple(result.to(x.dtype) for result in torch.ops.aten.native_layer_norm(*values))


def layer_norm(x: torch.Tensor, shape: list[int], *, affine: bool = True) -> Case:
    weight = make_tensor(*shape, seed=1) if affine else None
    bias = make_tensor(*shape, seed=2) if affine else None
    return Case(
        "aten::native_layer_norm.out",
        (x, shape, weight, bias, 1e-5),
        reference=layer_norm_in_double,
    )


def batch_norm(x: torch.Tensor, *, affine: bool = True) -> Case:
    channels = x.shape[1]
    weight = make_tensor(channels, seed=1) if affine else None
    bias = make_tensor(channels, seed=2) if affine else None
    mean, variance = make_tensor(channels, seed=3), make_tensor(channels, low=0.1, seed=4)
    return Case(
        "aten::_native_batch_norm_legit_no_training.out",
        (x, weight, bias, mean, variance, 0.1, 1e-5),
    )


def paddings() -> list[Case]:
    name, image = "aten::constant_pad_nd.out", make_tensor(2, 3, 7, 18)
    return [
        Case(name, (image, [1, 2])),
        Case(name, (image, [0, 1, 0, 1], -INF)),
        Case(name, (image, [3, -2, -1, 2], 0.5)),
        Case(name, (image, [-1, -2, -3, 0])),
        Case(name, (make_tensor(5), [2, 17], 1)),
        Case(name, (make_tensor(3, 4), [])),
    ]


def extremes() -> list[Case]:
    """Positions of the largest and smallest: ties, NaN, rows, and whole tensors."""
    ties = torch.tensor([[0.0, -0.0, 3.0, 3.0], [-2.0, -2.0, -5.0, -5.0], [NAN, 1.0, NAN, 2.0]])
    inputs = [*rows(), ties, make_tensor(3, 200, low=0, high=3).floor()]
    return [
        Case(f"aten::{name}.out", (x, dim, keepdim))
        for name in ("argmax", "argmin")
        for x in inputs
        for dim, keepdim in [(-1, False), (1, True), (None, False)]
    ] + [
        Case(f"aten::{name}", (x, -1, keepdim))
        for name in ("max.dim_max", "min.dim_min")
        for x in inputs
        for keepdim in (False, True)
    ]


def variances() -> list[Case]:
    offset = make_tensor(2, 333, low=1000, high=1001)
    inputs = [make_tensor(3, 5, 7), make_tensor(2, 5003), make_tensor(4, 1), offset]
    return [
        Case("aten::var.correction_out", (x, [-1]), {"correction": correction, "keepdim": keepdim})
        for x in inputs
        for correction, keepdim in [(1, False), (0, True), (None, False), (2.5, False)]
    ] + [
        *(Case("aten::var.out", (x, [-1], unbiased)) for x in inputs for unbiased in (True, False)),
        *(Case("aten::var_mean.correction_out", (x, [-1]), {"correction": 1}) for x in inputs),
        Case("aten::var.out", (inputs[0], [1, 2], True)),
        Case("aten::var.out", (inputs[0], [], True)),
    ]


def group_norm(x: torch.Tensor, groups: int, *, affine: bool = True) -> Case:
    batch, channels = x.shape[:2]
    weight = make_tensor(channels, seed=1) if affine else None
    bias = make_tensor(channels, seed=2) if affine else None
    positions = x[0, 0].numel()
    return Case(
        "aten::native_group_norm.out",
        (x, weight, bias, batch, channels, positions, groups, 1e-5),
        reference=group_norm_in_double,
    )


def group_norm_in_double(*args: Any) -> tuple[torch.Tensor, ...]:
    doubles = [arg.double() if isinstance(arg, torch.Tensor) else arg for arg in args]
    return tuple(result.float() for result in torch.ops.aten.native_group_norm(*doubles))


FAST_CASES = [
    *reductions("aten::sum.IntList_out", takes_none=True),
    *reductions("aten::mean.out", takes_none=True),
    *reductions("aten::amax.out", takes_none=False),
    *reductions("aten::amin.out", takes_none=False),
    *(
        Case(name, (x, dim, False))
        for name in ("aten::_softmax.out", "aten::_log_softmax.out")
        for x, dim in [
            *((row, -1) for row in rows()),
            (make_tensor(3, 5, 7), 1),
            (make_tensor(2, 70, 300), -2),
            (specials(FLOAT).reshape(-1, 1).expand(-1, 3).contiguous(), 0),
        ]
    ),
    layer_norm(make_tensor(3, 5, 37), [37]),
    layer_norm(make_tensor(3, 5, 7), [5, 7]),
    layer_norm(make_tensor(2, 4100), [4100], affine=False),
    layer_norm(make_tensor(2, 33, low=1000, high=1001), [33]),
    layer_norm(torch.tensor([[1.0, NAN, 2.0], [INF, 1.0, 2.0], [3.0, 3.0, 3.0]]), [3]),
    *extremes(),
    *variances(),
    group_norm(make_tensor(2, 6, 5, 7), 3),
    group_norm(make_tensor(2, 4, 19), 1, affine=False),
    group_norm(make_tensor(3, 4), 4),
    group_norm(make_tensor(1, 4, 9, 9, low=1000, high=1001), 2),
    batch_norm(make_tensor(2, 3, 5, 7)),
    batch_norm(make_tensor(4, 6), affine=False),
    batch_norm(make_tensor(1, 2, 37)),
    *poolings(),
    *paddings(),
]
