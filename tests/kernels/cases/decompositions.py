"""Matrices taken apart; vectors whose sign is free stand in test_decompositions.py."""

import torch

from kernels.case import Case, Refusal, make_tensor

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)
SHAPES = (
    (5, 3),
    (3, 5),
    (4, 4),
    (1, 3),
    (3, 1),
    (2, 3, 5, 4),
    (0, 3),
    (3, 0),
    (2, 0, 0),
    (0, 3, 2),
)


def _matrices(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    if not dtype.is_complex:
        return make_tensor(*shape, dtype=dtype, low=-2, high=2)
    real, imaginary = (
        make_tensor(*shape, dtype=dtype.to_real(), low=-2, high=2, seed=seed) for seed in (0, 1)
    )
    return torch.complex(real, imaginary)


NAN = torch.full((2, 2), float("nan"))

CASES = [
    Case("aten::linalg_qr.out", (_matrices(*shape, dtype=dtype), mode))
    for dtype in DTYPES
    for shape in SHAPES
    for mode in ("reduced", "complete", "r")
]
CASES += [
    Case("aten::_linalg_svd.U", (_matrices(*shape, dtype=dtype), False, False))
    for dtype in DTYPES
    for shape in SHAPES
]
CASES += [
    Case("aten::_linalg_eigh.eigenvalues", (_matrices(*shape, dtype=dtype), triangle, False))
    for dtype in DTYPES
    for shape in ((5, 5), (1, 1), (0, 0), (2, 3, 4, 4), (0, 3, 3))
    for triangle in "LU"
]
CASES += [
    Case("aten::linalg_qr.out", (torch.zeros(4, 3),)),
    Case("aten::linalg_qr.out", (torch.tensor([[3.0, -0.0], [0.0, 2.0], [0.0, 0.0]]),)),
    Case("aten::linalg_qr.out", (make_tensor(4, 3, dtype=torch.float64) * 1e300,)),
    Case("aten::_linalg_svd.U", (make_tensor(4, 3, dtype=torch.float64) * 1e300, False, False)),
    Case("aten::_linalg_svd.U", (make_tensor(3, 4).T, False, False)),
    Case("aten::_linalg_eigh.eigenvalues", (torch.eye(3), "L", False)),
]
REFUSALS = [
    Refusal(
        "aten::linalg_qr.out",
        (make_tensor(3),),
        outputs=(torch.empty(3), torch.empty(3)),
        match="matrices",
    ),
    Refusal(
        "aten::linalg_qr.out",
        (make_tensor(3, 3), "full"),
        outputs=(torch.empty(3, 3), torch.empty(3, 3)),
        match="mode must be reduced, complete or r",
    ),
    Refusal(
        "aten::_linalg_svd.U",
        (NAN,),
        outputs=(torch.empty(2, 2), torch.empty(2), torch.empty(2, 2)),
        match="holds NaN or infinity",
    ),
    Refusal(
        "aten::_linalg_eigh.eigenvalues",
        (NAN,),
        outputs=(torch.empty(2), torch.empty(2, 2)),
        match="holds NaN or infinity",
    ),
    Refusal(
        "aten::_linalg_eigh.eigenvalues",
        (make_tensor(2, 3),),
        outputs=(torch.empty(2), torch.empty(2, 3)),
        match="expected square matrices",
    ),
    Refusal(
        "aten::_linalg_eigh.eigenvalues",
        (make_tensor(2, 2), "X"),
        outputs=(torch.empty(2), torch.empty(2, 2)),
        match="UPLO must be L or U",
    ),
]
