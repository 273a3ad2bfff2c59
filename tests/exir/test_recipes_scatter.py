"""Scattered reductions become operators that every runtime has."""

import pytest
import torch
from torch import nn

from etlab.testing_graphs import check_lowering

REDUCTIONS = ("sum", "mean", "prod", "amax", "amin")


class Scatter(nn.Module):
    def __init__(self, dim: int, reduce: str, include_self: bool) -> None:
        super().__init__()
        self.dim, self.reduce, self.include_self = dim, reduce, include_self

    def forward(self, x: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        return x.scatter_reduce(
            self.dim, index, source, self.reduce, include_self=self.include_self
        )


class IndexReduce(Scatter):
    def forward(self, x: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        return x.index_reduce(self.dim, index, source, self.reduce, include_self=self.include_self)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_scatter_reduce_computes_what_eager_does(reduce: str, include_self: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    x, source = (torch.randn(5, 4, generator=generator) for _ in range(2))
    index = torch.randint(0, 5, (3, 2), generator=generator)  # smaller than both
    check_lowering(Scatter(0, reduce, include_self), x, index, source)


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_scatter_reduce_along_the_last_dimension_of_integers(reduce: str) -> None:
    x, source = torch.arange(-6, 6).reshape(3, 4), torch.arange(15).reshape(3, 5) - 7
    index = torch.tensor([[0, 1, 1, 3, 3]] * 3)
    check_lowering(Scatter(-1, reduce, True), x, index, source)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_scatter_reduce_of_truths_computes_what_eager_does(reduce: str, include_self: bool) -> None:
    x, source = torch.eye(4) > 0, torch.tensor([[True, False, True], [False, False, True]])
    index = torch.tensor([[0, 1, 1], [3, 0, 1]])
    check_lowering(Scatter(1, reduce, include_self), x, index, source)


def test_extremes_of_scattered_nan_are_nan() -> None:
    x, source = torch.zeros(3), torch.tensor([float("nan"), 1.0, -1.0])
    check_lowering(Scatter(0, "amax", True), x, torch.tensor([0, 0, 2]), source)


@pytest.mark.parametrize("reduce", REDUCTIONS[1:])
def test_index_reduce_computes_what_eager_does(reduce: str) -> None:
    generator = torch.Generator().manual_seed(1)
    x, source = (torch.randn(*shape, generator=generator) for shape in ((2, 5, 3), (2, 4, 3)))
    check_lowering(IndexReduce(1, reduce, False), x, torch.tensor([4, 0, 4, 2]), source)


def test_extremes_of_many_values_take_little_memory() -> None:
    size = 3000
    index = torch.arange(size) * 7 % 1000
    edge = check_lowering(
        Scatter(0, "amax", True), torch.zeros(size), index, torch.linspace(-1, 1, size)
    )
    values = [node.meta.get("val") for node in edge.graph.nodes]
    assert max(v.numel() for v in values if isinstance(v, torch.Tensor)) <= size + 1


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_nothing_to_scatter_changes_nothing(reduce: str) -> None:
    empty = torch.empty(3, 0, dtype=torch.int64)
    check_lowering(Scatter(1, reduce, True), torch.ones(3, 4), empty, torch.empty(3, 0))
