"""Elementwise functions that no runtime has a kernel for: the programs compute what eager does."""

from collections.abc import Callable

import pytest
import torch
from exir.lowering import Function, lower
from kernels.case import FLOATS, INTEGERS, specials
from torch import Tensor

from etlab.errors import UnsupportedOperatorError
from etlab.runtime import Runtime
from etlab.testing import assert_same

special = torch.special
INF = float("inf")


def check(function: Callable[..., Tensor | tuple[Tensor, ...]], *inputs: Tensor) -> None:
    """Assert that the native program of `function`, official operators only, agrees with eager."""
    inputs = tuple(tensor.clone() for tensor in inputs)
    program = Runtime.get().load_program(lower(Function(function), *inputs).buffer)
    outputs = program.load_method("forward").execute(list(inputs))
    expected = function(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for actual, want in zip(outputs, expected, strict=True):
        assert_same(actual, want)


def spread(low: float, high: float, dtype: torch.dtype) -> Tensor:
    """Values from `low` to `high`, with zero, infinities and NaN."""
    edges = torch.tensor([0.0, -0.0, INF, -INF, float("nan")], dtype=torch.float64)
    return torch.cat([torch.linspace(low, high, 61, dtype=torch.float64), edges]).to(dtype)


UNARY: dict[str, tuple[Callable[[Tensor], Tensor], float, float]] = {
    "erfc": (torch.erfc, -6, 9),
    "erfcx": (special.erfcx, -5, 50),
    "log_ndtr": (special.log_ndtr, -30, 5),
    "erfinv": (torch.erfinv, -1.25, 1.25),
    "lgamma": (torch.lgamma, -12.3, 60),
    "lgamma at integers": (torch.lgamma, -30, 30),
    "digamma": (torch.digamma, -7.9, 60),
    "digamma at integers": (torch.digamma, -30, 30),
    "trigamma": (lambda x: torch.polygamma(1, x), -7.9, 60),
    "i0": (torch.i0, -30, 30),
    "i0e": (special.i0e, -50, 50),
    "i1": (special.i1, -30, 30),
    "i1e": (special.i1e, -50, 50),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", UNARY)
def test_special_functions_are_as_exact_as_eager(name: str, dtype: torch.dtype) -> None:
    function, low, high = UNARY[name]
    check(function, spread(low, high, dtype))


@pytest.mark.parametrize("name", ["erfc", "lgamma", "i0"])
def test_special_functions_of_integers_are_floats(name: str) -> None:
    check(UNARY[name][0], torch.arange(0, 9))


@pytest.mark.parametrize("name", ["erfc", "digamma"])
def test_special_functions_of_nothing_are_empty(name: str) -> None:
    check(UNARY[name][0], torch.empty(0, 3))


BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "copysign": torch.copysign,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_special_values(name: str, dtype: torch.dtype) -> None:
    values = specials(dtype)
    check(BINARY[name], values.reshape(-1, 1), values)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_integers(name: str, dtype: torch.dtype) -> None:
    values = specials(dtype)[:-4]
    check(BINARY[name], values.reshape(-1, 1), values)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_next_number_in_a_direction(dtype: torch.dtype) -> None:
    limits = torch.finfo(dtype)
    tiny = torch.tensor([limits.tiny / 4, limits.tiny * 2, 1.0, 2.0, limits.max], dtype=dtype)
    values = torch.cat([specials(dtype), tiny, -tiny])
    check(torch.nextafter, values.reshape(-1, 1), values)


def test_the_next_double_is_refused() -> None:
    x = torch.ones(3, dtype=torch.float64)
    with pytest.raises(UnsupportedOperatorError, match="nextafter"):
        lower(Function(torch.nextafter), x, x)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, *FLOATS])
def test_signbit_tells_the_zeros_apart(dtype: torch.dtype) -> None:
    check(torch.signbit, specials(dtype))


def test_copysign_of_a_number() -> None:
    check(lambda x: torch.copysign(x, -0.0), specials(torch.float32))


@pytest.mark.parametrize("dtype", FLOATS)
def test_frexp_and_ldexp_are_inverse(dtype: torch.dtype) -> None:
    values = specials(dtype)
    values = values[torch.isfinite(values)]
    check(lambda x: tuple(torch.frexp(x)), values)
    check(torch.ldexp, values, torch.arange(len(values)) - 9)


def test_frexp_of_the_smallest_doubles() -> None:
    check(lambda x: tuple(torch.frexp(x)), torch.tensor([5e-324, 1e-310, 2.0**1023, 1 - 2.0**-53]))


def test_in_place_operators_of_python_are_brought_over() -> None:
    check(torch.isclose, specials(torch.float32), specials(torch.float32) + 1e-6)
