"""Linear equations, inverses and determinants of small matrices, column by column.

The program grows with the matrix, so its side is limited. What eager raises for, a singular or
not positive definite matrix, gives infinities and NaN. The pseudo-inverse is made of a singular
value decomposition, which is an extended operator for any size.
"""

from typing import Any

import torch
from torch import Tensor

from etlab.errors import LoweringError
from etlab.exir.decompose.recipes import recipe

aten = torch.ops.aten

_LARGEST_SIDE = 32


def _side(matrix: Tensor, operator: str) -> int:
    size = matrix.shape[-1]
    if not isinstance(size, int) or size > _LARGEST_SIDE:
        raise LoweringError(
            f"{operator} of {size} rows: a program takes such matrices apart for up to "
            f"{_LARGEST_SIDE} rows of a static number; compute the result before the export where "
            "the matrix is a constant, or solve by iteration (matrix products in a while_loop)"
        )
    return size


def _rows(size: int) -> Tensor:
    """(size, 1): the number of each row."""
    return torch.arange(size).reshape(size, 1)


def _factored(matrix: Tensor, operator: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """LU with partial pivoting.

    Returns:
        both factors in one matrix (..., n, n); pivots as LAPACK counts them (..., n); the order of
        rows (..., n); the sign of that order (...).
    """
    size = _side(matrix, operator)
    rows = _rows(size)
    columns = rows.reshape(1, size)
    order = rows.reshape(size).expand(matrix.shape[:-1])
    sign = torch.ones(matrix.shape[:-2], dtype=matrix.dtype)
    pivots: list[Tensor] = []
    for k in range(size):
        pivot = torch.argmax(matrix[..., k:, k].abs(), -1, keepdim=True) + k
        pivots.append(pivot + 1)
        sign = torch.where(pivot.squeeze(-1) == k, sign, -sign)
        numbers = rows.reshape(size).expand(matrix.shape[:-1])
        swapped = torch.where(numbers == k, pivot, torch.where(numbers == pivot, k, numbers))
        order = order.gather(-1, swapped)
        matrix = matrix.gather(-2, swapped.unsqueeze(-1).expand(matrix.shape))
        corner = matrix[..., k : k + 1, k : k + 1]
        factors = torch.where((rows > k) & (corner != 0), matrix[..., k : k + 1] / corner, 0.0)
        reduced = matrix - factors * torch.where(columns > k, matrix[..., k : k + 1, :], 0.0)
        matrix = torch.where((rows > k) & (columns == k), factors, reduced)
    numbered = torch.cat(pivots, -1) if pivots else order.clone()
    return matrix, numbered.to(torch.int32), order, sign


def _substituted(
    factor: Tensor, right: Tensor, operator: str, *, upper: bool, is_unit: bool
) -> Tensor:
    """X of `factor @ X = right` for a triangular factor."""
    size = _side(factor, operator)
    rows = _rows(size)
    for k in reversed(range(size)) if upper else range(size):
        row = right[..., k : k + 1, :]
        if not is_unit:
            row = row / factor[..., k : k + 1, k : k + 1]
        others = rows < k if upper else rows > k
        rest = right - torch.where(others, factor[..., k : k + 1], 0.0) * row
        right = torch.where(rows == k, row, rest)
    return right


def _solved(factors: Tensor, order: Tensor, right: Tensor, operator: str) -> Tensor:
    ordered = right.gather(-2, order.unsqueeze(-1).expand(right.shape))
    lower = _substituted(factors, ordered, operator, upper=False, is_unit=True)
    return _substituted(factors, lower, operator, upper=True, is_unit=False)


def _no_trouble(matrix: Tensor) -> Tensor:
    return torch.zeros(matrix.shape[:-2], dtype=torch.int32)


@recipe(aten._linalg_det.default)
def det(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    factors, pivots, _, sign = _factored(matrix, "aten.linalg_det")
    return sign * torch.diagonal(factors, 0, -2, -1).prod(-1), factors, pivots


@recipe(aten._linalg_slogdet.default)
def slogdet(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    factors, pivots, _, sign = _factored(matrix, "aten.linalg_slogdet")
    diagonal = torch.diagonal(factors, 0, -2, -1)
    sign = sign * torch.sign(diagonal).prod(-1)
    return sign, torch.log(diagonal.abs()).sum(-1), factors, pivots


@recipe(aten.linalg_inv_ex.default)
def inverse(matrix: Tensor, *, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    factors, _, order, _ = _factored(matrix, "aten.linalg_inv")
    unit = torch.eye(matrix.shape[-1], dtype=matrix.dtype).expand(matrix.shape)
    return _solved(factors, order, unit, "aten.linalg_inv"), _no_trouble(matrix)


@recipe(aten._linalg_solve_ex.default)
def solve(
    matrix: Tensor, right: Tensor, *, left: bool = True, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    operator = "aten.linalg_solve"
    is_vector = right.dim() == 1 or (
        matrix.dim() - 1 == right.dim() and right.shape == matrix.shape[:-1]
    )
    columns = right.unsqueeze(-1) if is_vector else right
    if not left and not is_vector:
        columns = columns.transpose(-2, -1)
    batch = torch.broadcast_shapes(  # type: ignore[no-untyped-call]
        matrix.shape[:-2], columns.shape[:-2]
    )
    columns = columns.expand(*batch, *columns.shape[-2:])
    matrix = matrix.expand(*batch, *matrix.shape[-2:])
    factors, pivots, order, _ = _factored(matrix if left else matrix.transpose(-2, -1), operator)
    result = _solved(factors, order, columns, operator)
    if is_vector:
        result = result.squeeze(-1)
    elif not left:
        result = result.transpose(-2, -1)
    return result, factors, pivots, _no_trouble(matrix)


@recipe(aten.linalg_solve_triangular.default)
def solve_triangular(
    factor: Tensor, right: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    operator = "aten.linalg_solve_triangular"
    if left:
        return _substituted(factor, right, operator, upper=upper, is_unit=unitriangular)
    flipped = _substituted(
        factor.transpose(-2, -1),
        right.transpose(-2, -1),
        operator,
        upper=not upper,
        is_unit=unitriangular,
    )
    return flipped.transpose(-2, -1)


@recipe(aten.linalg_cholesky_ex.default)
def cholesky(
    matrix: Tensor, *, upper: bool = False, check_errors: bool = False
) -> tuple[Tensor, Tensor]:
    size = _side(matrix, "aten.linalg_cholesky")
    rows = _rows(size)
    rest = matrix.transpose(-2, -1) if upper else matrix
    columns: list[Any] = []
    for k in range(size):
        root = torch.sqrt(rest[..., k : k + 1, k : k + 1])
        column = torch.where(rows >= k, rest[..., k : k + 1] / root, 0.0)
        columns.append(column)
        rest = rest - column * column.transpose(-2, -1)
    factor = torch.cat(columns, -1) if columns else matrix.clone()
    return factor.transpose(-2, -1) if upper else factor, _no_trouble(matrix)


@recipe(aten.linalg_pinv.atol_rtol_tensor)
def pinv(
    matrix: Tensor,
    *,
    atol: Tensor | None = None,
    rtol: Tensor | None = None,
    hermitian: bool = False,
) -> Tensor:
    if hermitian:  # one triangle counts
        lower = torch.tril(matrix)
        matrix = lower + torch.tril(matrix, -1).transpose(-2, -1).conj()
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    if rtol is None and atol is None:
        rtol = torch.tensor(max(matrix.shape[-2:]) * torch.finfo(values.dtype).eps)
    largest = torch.amax(values, -1, keepdim=True)
    limit = torch.zeros_like(largest)
    if rtol is not None:
        limit = torch.maximum(limit, rtol.unsqueeze(-1) * largest)
    if atol is not None:
        limit = torch.maximum(limit, atol.unsqueeze(-1))
    inverse = torch.where(values > limit, 1.0 / values, 0.0).to(values.dtype)
    columns = right.transpose(-2, -1).conj() * inverse.unsqueeze(-2)
    return torch.matmul(columns, left.transpose(-2, -1).conj())
