"""Order statistics, running extremes and places: the programs compute what eager does."""

import math
from collections.abc import Callable

import pytest
import torch
from exir.lowering import Function, seeded
from torch import Tensor

from etlab.testing_graphs import check_lowering

NAN, INF = float("nan"), float("inf")
TIES = torch.tensor(
    [[3.0, 1.0, 3.0, NAN, 2.0], [1.0, 1.0, 1.0, 1.0, 1.0], [INF, -INF, 2.0, 2.0, 0]]
)
NUMBERS = torch.nan_to_num(TIES, 7.0)

RUNNING: dict[str, Callable[[Tensor, int], object]] = {
    "cummax": torch.cummax,
    "cummin": torch.cummin,
    "logcumsumexp": torch.logcumsumexp,
}


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("name", RUNNING)
def test_running_functions_with_ties_and_nan(name: str, dim: int) -> None:
    check_lowering(Function(lambda x: RUNNING[name](x, dim)), TIES)


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 0), (3, 2, 4)])
@pytest.mark.parametrize("name", RUNNING)
def test_running_functions_of_every_rank(name: str, shape: tuple[int, ...]) -> None:
    x = seeded(24)[: math.prod(shape)].reshape(shape)
    check_lowering(Function(lambda x: RUNNING[name](x, -1)), x)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes_of_integers(name: str) -> None:
    check_lowering(Function(lambda x: RUNNING[name](x, 0)), torch.tensor([3, 1, 3, -4, 3, -4]))


@pytest.mark.parametrize("name", RUNNING)
def test_running_functions_along_a_dynamic_dimension(name: str) -> None:
    class Running(torch.nn.Module):
        def forward(self, x: Tensor) -> object:
            return RUNNING[name](x, 0)

    shapes = {"x": {0: torch.export.Dim("length", max=13)}}
    check_lowering(
        Running(),
        seeded(5, 2),
        more_inputs=[(seeded(13, 2, seed=1),), (seeded(2, 2),)],
        dynamic_shapes=shapes,
    )


STATISTICS: dict[str, Callable[[Tensor], object]] = {
    "kthvalue": lambda x: torch.kthvalue(x, 2, 0),
    "kthvalue keeping": lambda x: torch.kthvalue(x, 3, -1, keepdim=True),
    "mode": lambda x: torch.mode(x, 1),
    "mode keeping": lambda x: torch.mode(x, 0, keepdim=True),
    "nanmedian": torch.nanmedian,
    "nanmedian along": lambda x: torch.nanmedian(x, 1),
    "nanmedian keeping": lambda x: torch.nanmedian(x, 0, keepdim=True),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_order_statistics(name: str) -> None:
    check_lowering(Function(STATISTICS[name]), seeded(5, 7))


def test_mode_is_the_smallest_of_the_most_frequent_and_its_last_place() -> None:
    check_lowering(Function(lambda x: torch.mode(x, -1)), torch.tensor([[5, 2, 5, 2, 9], [1] * 5]))
    check_lowering(Function(lambda x: torch.mode(x, -1)), NUMBERS)


def test_values_of_order_statistics_with_nan() -> None:
    check_lowering(Function(lambda x: torch.kthvalue(x, 5, -1)[0]), TIES)
    check_lowering(Function(lambda x: torch.nanmedian(x, 0)[0]), TIES)
    check_lowering(Function(torch.nanmedian), torch.full((2, 3), NAN))


@pytest.mark.parametrize("size", [2, 4, 9])
def test_nonzero_of_a_fixed_size_is_cut_or_filled(size: int) -> None:
    function = Function(lambda x: torch.nonzero_static(x, size=size, fill_value=-7))
    check_lowering(function, torch.tensor([[0, 3, 0], [-1, 0, 2], [0, 0, 9]]))
    check_lowering(function, torch.tensor([True, False]))


@pytest.mark.parametrize("accumulate", [True, False])
def test_put_counts_negative_places_from_the_end(accumulate: bool) -> None:
    function = Function(lambda x, i, v: x.put(i, v, accumulate=accumulate))
    index = torch.tensor([[3, -1], [0, 4]])
    check_lowering(function, seeded(3, 5), index, seeded(2, 2, seed=1))


def test_put_writes_in_place() -> None:
    def write(x: Tensor, index: Tensor, values: Tensor) -> Tensor:
        return x.put_(index, values)

    check_lowering(Function(write), seeded(3, 5), torch.tensor([2, -3]), seeded(2, seed=1))


@pytest.mark.parametrize("bounds", [(-1, 1), (0, 0)])
def test_histograms_hold_both_ends_of_their_range(bounds: tuple[int, int]) -> None:
    function = Function(lambda x: torch.histc(x, 5, *bounds))
    check_lowering(function, seeded(6, 5))
    check_lowering(function, torch.tensor([-1.0, 1.0, 0.2, 0.6]))
    check_lowering(function, torch.full((3,), 0.5))


@pytest.mark.parametrize("reduce", ["add", "multiply"])
def test_scatter_with_a_reduction(reduce: str) -> None:
    index = torch.tensor([[0, 1, 1], [2, 2, 0]])
    check_lowering(Function(lambda x, i: x.scatter(0, i, 3.0, reduce=reduce)), seeded(3, 4), index)
    check_lowering(
        Function(lambda x, i, v: x.scatter(1, i, v, reduce=reduce)),
        seeded(3, 4),
        index,
        seeded(2, 3, seed=1),
    )


PRODUCTS: dict[str, Callable[..., Tensor]] = {
    "addmv": lambda m, v: torch.addmv(v, m, v, beta=2, alpha=-3),
    "addmv that ignores": lambda m, v: torch.addmv(v * NAN, m, v, beta=0),
    "addbmm": lambda m, v: torch.addbmm(m, m[None], m[None], beta=0.5),
    "dist": lambda m, v: torch.dist(m, v, 3),
    "bilinear": lambda m, v: torch.nn.functional.bilinear(m, m, torch.ones(2, 4, 4)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_forms_of_products(name: str) -> None:
    check_lowering(Function(PRODUCTS[name]), seeded(4, 4), seeded(4, seed=1))
