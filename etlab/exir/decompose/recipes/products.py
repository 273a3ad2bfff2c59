"""Forms of matrix products, and what is a product and a sum."""

from typing import Any

import torch
from torch import Tensor

from etlab.exir.decompose.recipes import recipe

aten = torch.ops.aten


def _added(x: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """Beta * x + alpha * product; x is not looked at when beta is 0."""
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (x if beta == 1 else x * beta)


@recipe(aten.addmv.default)
def addmv(x: Tensor, matrix: Tensor, vector: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return _added(x, torch.mv(matrix, vector), beta, alpha)


@recipe(aten.addbmm.default)
def addbmm(x: Tensor, first: Tensor, second: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return _added(x, torch.bmm(first, second).sum(0), beta, alpha)


@recipe(aten.dist.default)
def dist(x: Tensor, y: Tensor, p: Any = 2) -> Tensor:
    result: Tensor = torch.linalg.vector_norm(x - y, p)
    return result


@recipe(aten._trilinear.default)
def trilinear(
    first: Tensor,
    second: Tensor,
    third: Tensor,
    expand_first: list[int],
    expand_second: list[int],
    expand_third: list[int],
    summed: list[int],
    unroll_dim: int = 1,
) -> Tensor:
    factors = []
    for factor, dims in (
        (first, expand_first),
        (second, expand_second),
        (third, expand_third),
    ):
        for dim in dims:
            factor = factor.unsqueeze(dim)
        factors.append(factor)
    return (factors[0] * factors[1] * factors[2]).sum(summed)
