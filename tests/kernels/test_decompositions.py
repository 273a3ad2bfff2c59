"""Singular value decompositions and eigenvectors: held against the matrix they are made of."""

import pytest
import torch

from etlab.testing import TOLERANCES, run_kernel
from kernels.cases.decompositions import DTYPES, SHAPES, _matrices

SQUARE = ((5, 5), (1, 1), (0, 0), (2, 3, 4, 4), (33, 33))
RANK_TWO = torch.outer(torch.arange(6.0), torch.arange(5.0)) + torch.ones(6, 5)


def _close(actual, wanted, what):
    absolute, relative = TOLERANCES[wanted.dtype]
    torch.testing.assert_close(
        actual, wanted, atol=10 * absolute, rtol=10 * relative, msg=lambda text: f"{what}: {text}"
    )


def _assert_orthonormal(columns, what):
    side = torch.eye(columns.shape[-1], dtype=columns.dtype)
    _close(columns.mH @ columns, side.expand(*columns.shape[:-2], *side.shape), what)


def _svd(matrix, full):
    wanted = torch.linalg.svd(matrix, full_matrices=full)
    found = [torch.full(one.shape, float("nan"), dtype=one.dtype) for one in wanted]
    run_kernel("aten::_linalg_svd.U", matrix, full, outputs=found)
    _close(found[1], wanted[1], "singular values")
    return found


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_singular_vectors_make_the_matrix_and_stand_at_right_angles(dtype, full):
    matrices = [_matrices(*shape, dtype=dtype) for shape in (*SHAPES, (30, 20))]
    special = (RANK_TWO, torch.zeros(4, 3), torch.ones(3, 4), torch.eye(4)[[2, 0, 1, 3]])
    for matrix in [*matrices, *(one.to(dtype) for one in special)]:
        u, s, vh = _svd(matrix, full)
        rank = s.shape[-1]
        made = (u[..., :rank] * s.unsqueeze(-2)) @ vh[..., :rank, :]
        _close(made, matrix, f"U S Vh of {list(matrix.shape)}")
        _assert_orthonormal(u, "U")
        _assert_orthonormal(vh.mH, "Vh")


@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_singular_values_neither_overflow_nor_vanish(factor):
    u, s, vh = _svd(_matrices(4, 3, dtype=torch.float64) * factor, False)
    _assert_orthonormal(u, "U")
    _assert_orthonormal(vh.mH, "Vh")
    assert bool((s > 0).all())


@pytest.mark.parametrize("triangle", "LU")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_eigenvectors_make_the_matrix_of_one_triangle(dtype, triangle):
    for shape in SQUARE:
        matrix = _matrices(*shape, dtype=dtype)  # the other triangle does not count
        wanted, vectors = torch.linalg.eigh(matrix, UPLO=triangle)
        found = torch.empty_like(wanted), torch.empty(vectors.shape, dtype=dtype)
        run_kernel("aten::_linalg_eigh.eigenvalues", matrix, triangle, outputs=found)
        _close(found[0], wanted, "eigenvalues")
        _assert_orthonormal(found[1], "eigenvectors")
        made = (found[1] * found[0].unsqueeze(-2)) @ found[1].mH
        _close(made, (vectors * wanted.unsqueeze(-2)) @ vectors.mH, f"V W V^H of {list(shape)}")
