"""Operators that runtimes have for real numbers only: of complex ones, by their parts."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx

from etlab.exir.decompose.paste import paste
from etlab.exir.decompose.plan import rule
from etlab.exir.decompose.walk import Walk

aten = torch.ops.aten


def _of_complex(*operators: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function for calls with a complex tensor; the others are kept."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for operator in operators:

            def expand(
                walk: Walk, val: Any, *args: Any, _target: Any = operator, **kwargs: Any
            ) -> Any:
                tensors = [arg.meta["val"] for arg in args if isinstance(arg, fx.Node)]
                if any(isinstance(t, Tensor) and t.is_complex() for t in tensors):
                    return paste(walk, function, args, kwargs, val)
                return walk.keep(_target, args, kwargs, val)

            rule(str(operator))(expand)
        return function

    return register


def _parts(x: Tensor) -> tuple[Tensor, Tensor]:
    pairs = torch.view_as_real(x)
    return pairs[..., 0], pairs[..., 1]


@_of_complex(aten.exp.default)
def exp(x: Tensor) -> Tensor:
    real, imaginary = _parts(x)
    return torch.polar(torch.exp(real), imaginary)


@_of_complex(aten.log.default)
def log(x: Tensor) -> Tensor:
    return torch.complex(torch.log(x.abs()), torch.angle(x))


@_of_complex(aten.sqrt.default)
def sqrt(x: Tensor) -> Tensor:
    return torch.polar(torch.sqrt(x.abs()), torch.angle(x) / 2)


@_of_complex(aten.reciprocal.default)
def reciprocal(x: Tensor) -> Tensor:
    real, imaginary = _parts(x)
    square = real * real + imaginary * imaginary
    return torch.complex(real / square, -imaginary / square)


@_of_complex(aten.pow.Tensor_Scalar)
def power(x: Tensor, exponent: Any) -> Tensor:
    if isinstance(exponent, complex):
        return torch.exp(torch.log(x) * exponent)
    if isinstance(exponent, int) and 0 < exponent <= 8:
        result = x
        for _ in range(exponent - 1):
            result = result * x
        return result
    return torch.polar(torch.pow(x.abs(), exponent), torch.angle(x) * exponent)


@_of_complex(aten.mean.dim)
def mean(x: Tensor, dim: Any, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    dims = [dim] if isinstance(dim, int) else list(dim or range(x.dim()))
    count: Any = 1
    for one in dims:
        count = count * x.shape[one]
    result: Tensor = torch.sum(x, dims, keepdim) / count
    return result


@_of_complex(aten.eq.Tensor)
def equal(x: Any, y: Any) -> Tensor:
    left, right = (torch.view_as_real(_complex(value, x, y)) for value in (x, y))
    return (left == right).all(-1)


@_of_complex(aten.ne.Tensor)
def not_equal(x: Any, y: Any) -> Tensor:
    left, right = (torch.view_as_real(_complex(value, x, y)) for value in (x, y))
    return (left != right).any(-1)


def _complex(value: Any, x: Any, y: Any) -> Tensor:
    dtype = torch.result_type(x, y)
    if not isinstance(value, Tensor):
        return torch.tensor(value, dtype=dtype)
    return value.to(dtype)
