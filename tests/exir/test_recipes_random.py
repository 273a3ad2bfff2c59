"""Random numbers follow eager's distributions; the sequence is the runtime's own."""

from collections.abc import Callable

import pytest
import torch
from exir.lowering import Function, lower
from torch import Tensor
from torch.nn import functional

from etlab.runtime import Runtime

COUNT = 20_000


def drawn(function: Callable[[Tensor], Tensor], *inputs: Tensor) -> Tensor:
    program = Runtime.get().load_program(lower(Function(function), *inputs).buffer)
    result: Tensor = program.load_method("forward").execute(list(inputs))[0]
    return result


# Function of a vector of zeros, expected mean and standard deviation.
DISTRIBUTIONS: dict[str, tuple[Callable[[Tensor], Tensor], float, float]] = {
    "rand_like": (torch.rand_like, 0.5, 12**-0.5),
    "randn_like": (torch.randn_like, 0, 1),
    "randint": (lambda x: torch.randint(-3, 6, x.shape) + x, 1, 60**0.5 / 3),
    "randint_like": (lambda x: torch.randint_like(x, 9), 4, 60**0.5 / 3),
    "uniform_": (lambda x: x.clone().uniform_(2, 5), 3.5, 3 * 12**-0.5),
    "normal_": (lambda x: x.clone().normal_(2, 3), 2, 3),
    "normal": (lambda x: torch.normal(x + 1, x + 2), 1, 2),
    "normal with one deviation": (lambda x: torch.normal(x - 1, 0.5), -1, 0.5),
    "bernoulli": (lambda x: x.clone().bernoulli_(0.25), 0.25, 3**0.5 / 4),
    "exponential": (lambda x: x.clone().exponential_(2), 0.5, 0.5),
    "geometric": (lambda x: x.clone().geometric_(0.5), 2, 2**0.5),
    "log_normal": (lambda x: x.clone().log_normal_(0, 0.25).log(), 0, 0.25),
    "cauchy": (lambda x: x.clone().cauchy_(1, 2).sub(1).sign(), 0, 1),
    "rrelu": (lambda x: functional.rrelu(x - 1, 0.2, 0.6, training=True), -0.4, 0.4 * 12**-0.5),
    "multinomial": (
        lambda x: torch.multinomial(x[:4] + 1, 20_000, replacement=True),
        1.5,
        1.25**0.5,
    ),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_have_their_mean_and_deviation(name: str) -> None:
    function, mean, deviation = DISTRIBUTIONS[name]
    sample = drawn(function, torch.zeros(COUNT)).double()
    # Six standard errors of the mean.
    assert abs(sample.mean().item() - mean) < 6 * deviation / COUNT**0.5
    assert abs(sample.std().item() / deviation - 1) < 0.06


def test_integers_reach_both_ends_of_their_range() -> None:
    sample = drawn(lambda x: torch.randint_like(x, -1, 3), torch.zeros(500))
    assert set(sample.tolist()) == {-1, 0, 1, 2}


def test_a_permutation_holds_every_number_once() -> None:
    order = drawn(lambda x: torch.randperm(50) + x, torch.zeros(50, dtype=torch.int64))
    assert sorted(order.tolist()) == list(range(50))
    assert order.tolist() != list(range(50))


def test_drawing_without_replacement_never_repeats_and_never_takes_weight_zero() -> None:
    weights = torch.tensor([[1.0, 0, 2, 3, 0, 1]] * 40)
    sample = drawn(lambda w: torch.multinomial(w, 4), weights)
    assert all(set(row) == {0, 2, 3, 5} for row in sample.tolist())
    assert len({tuple(row) for row in sample.tolist()}) > 5


def test_rrelu_outside_training_has_the_mean_slope() -> None:
    x = torch.tensor([-3.0, 0.0, 2.0])
    assert torch.allclose(drawn(functional.rrelu, x), functional.rrelu(x))
