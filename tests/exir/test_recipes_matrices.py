"""Small matrices: equations, inverses and determinants as eager computes them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from exir.lowering import Function, seeded
from torch import Tensor

from etlab.errors import LoweringError
from etlab.exir import to_edge
from etlab.testing_graphs import check_lowering, export_module

linalg = torch.linalg
SYMMETRIC = seeded(4, 4) @ seeded(4, 4).mT + torch.eye(4)
PIVOTED = torch.tensor([[0.0, 2, 1], [1, 0, 3], [2, 1, 0]])

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "det": (linalg.det, (seeded(2, 5, 5),)),
    "det that needs pivots": (linalg.det, (PIVOTED,)),
    "det of a singular matrix": (linalg.det, (torch.ones(3, 3),)),
    "det of one": (linalg.det, (seeded(1, 1),)),
    "slogdet": (linalg.slogdet, (seeded(2, 3, 4, 4),)),
    "inv": (linalg.inv, (seeded(3, 5, 5),)),
    "inv that needs pivots": (linalg.inv, (PIVOTED,)),
    "inv in double": (linalg.inv, (SYMMETRIC.double(),)),
    "solve": (linalg.solve, (seeded(2, 4, 4), seeded(2, 4, 3, seed=1))),
    "solve for a vector": (linalg.solve, (SYMMETRIC, seeded(4))),
    "solve for many": (linalg.solve, (SYMMETRIC, seeded(5, 4, 2))),
    "solve from the right": (
        lambda a, b: linalg.solve(a, b, left=False),
        (SYMMETRIC, seeded(2, 4)),
    ),
    "upper triangle": (
        lambda a, b: linalg.solve_triangular(a, b, upper=True),
        (SYMMETRIC, seeded(4, 3)),
    ),
    "lower unit triangle": (
        lambda a, b: linalg.solve_triangular(a, b, upper=False, unitriangular=True),
        (SYMMETRIC / 4, seeded(4, 3)),
    ),
    "triangle from the right": (
        lambda a, b: linalg.solve_triangular(a, b, upper=True, left=False),
        (SYMMETRIC, seeded(3, 4)),
    ),
    "cholesky": (linalg.cholesky, (SYMMETRIC.expand(2, 4, 4),)),
    "cholesky upper": (lambda a: linalg.cholesky(a, upper=True), (SYMMETRIC,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_matrices(name: str) -> None:
    function, inputs = FUNCTIONS[name]
    check_lowering(Function(function), *(one.clone() for one in inputs))


def test_large_matrices_are_refused_with_the_way_out() -> None:
    exported = export_module(Function(linalg.inv), (torch.eye(40),))
    with pytest.raises(LoweringError, match="up to 32 rows"):
        to_edge(exported)


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_volumes_are_sampled(mode: str, padding: str, align_corners: bool) -> None:
    def sample(x: Tensor, grid: Tensor) -> Tensor:
        return torch.nn.functional.grid_sample(
            x, grid, mode=mode, padding_mode=padding, align_corners=align_corners
        )

    check_lowering(Function(sample), seeded(2, 3, 4, 5, 6), seeded(2, 3, 2, 4, 3) * 1.5)
    check_lowering(Function(sample), seeded(1, 1, 1, 2, 3), seeded(1, 2, 2, 2, 3) * 3)


UNIQUE: dict[str, Callable[[Tensor], Any]] = {
    "unique": torch.unique,
    "with all": lambda x: torch.unique(x, return_inverse=True, return_counts=True),
    "consecutive": lambda x: torch.unique_consecutive(x.flatten(), return_counts=True),
    "consecutive with places": lambda x: torch.unique_consecutive(x, return_inverse=True),
}


@pytest.mark.parametrize("name", UNIQUE)
def test_distinct_elements(name: str) -> None:
    check_lowering(
        Function(UNIQUE[name]),
        torch.tensor([[3, 3, 1], [1, 1, 7]]),
        more_inputs=[(torch.zeros(2, 3, dtype=torch.int64),), (torch.arange(6).reshape(2, 3),)],
    )


def test_every_nan_is_distinct() -> None:
    values = torch.tensor([2.0, float("nan"), 2.0, float("nan")])
    check_lowering(Function(UNIQUE["with all"]), values)
