"""Random numbers out of the two sources that every runtime has: `rand` and `randn`.

They follow the same distributions as eager's, not the same sequence.
"""

import math
from typing import Any

import torch
from torch import Tensor

from etlab.exir.decompose.recipes import recipe

aten = torch.ops.aten


def _dtype(dtype: torch.dtype | None, otherwise: torch.dtype) -> torch.dtype:
    return otherwise if dtype is None else dtype


def _uniform(sizes: Any) -> Tensor:
    """Doubles in [0, 1): fine enough for any range of integers that is asked for."""
    return torch.rand(sizes, dtype=torch.float64)


def _nonzero_uniform(sizes: Any) -> Tensor:
    """Doubles in (0, 1], for logarithms."""
    return 1 - _uniform(sizes)


@recipe(aten.rand_like.default)
def rand_like(x: Tensor, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return torch.rand(x.shape, dtype=_dtype(dtype, x.dtype))


@recipe(aten.randn_like.default)
def randn_like(x: Tensor, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return torch.randn(x.shape, dtype=_dtype(dtype, x.dtype))


def _integers(low: int, high: int, sizes: Any, dtype: torch.dtype) -> Tensor:
    return (torch.floor(_uniform(sizes) * (high - low)) + low).to(dtype)


@recipe(aten.randint.default)
def randint(high: int, size: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return _integers(0, high, size, _dtype(dtype, torch.int64))


@recipe(aten.randint.low)
def randint_from(
    low: int, high: int, size: Any, *, dtype: torch.dtype | None = None, **_: Any
) -> Tensor:
    return _integers(low, high, size, _dtype(dtype, torch.int64))


@recipe(aten.randint_like.default)
def randint_like(x: Tensor, high: int, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return _integers(0, high, x.shape, _dtype(dtype, x.dtype))


@recipe(aten.randint_like.low_dtype)
def randint_like_from(
    x: Tensor, low: int, high: int, *, dtype: torch.dtype | None = None, **_: Any
) -> Tensor:
    return _integers(low, high, x.shape, _dtype(dtype, x.dtype))


@recipe(aten.randperm.default)
def randperm(n: int, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    order: Tensor = aten.topk.default(_uniform([n]), n)[1]
    return order.to(_dtype(dtype, torch.int64))


@recipe(aten.uniform.default)
def uniform(x: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Tensor:
    return torch.rand(x.shape, dtype=x.dtype) * (high - low) + low


@recipe(aten.bernoulli.p)
def bernoulli(x: Tensor, p: float = 0.5, *, generator: Any = None) -> Tensor:
    return (_uniform(x.shape) < p).to(x.dtype)


@recipe(aten.exponential.default)
def exponential(x: Tensor, rate: float = 1.0, *, generator: Any = None) -> Tensor:
    return (-torch.log(_nonzero_uniform(x.shape)) / rate).to(x.dtype)


@recipe(aten.geometric.default)
def geometric(x: Tensor, p: float, *, generator: Any = None) -> Tensor:
    return (
        torch.ceil(torch.log(_nonzero_uniform(x.shape)) / math.log1p(-p)).clamp(min=1).to(x.dtype)
    )


@recipe(aten.log_normal.default)
def log_normal(x: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    return torch.exp(torch.randn(x.shape, dtype=x.dtype) * std + mean)


@recipe(aten.cauchy.default)
def cauchy(x: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    return (median + sigma * torch.tan(math.pi * (_uniform(x.shape) - 0.5))).to(x.dtype)


@recipe(aten.normal.Tensor_Tensor, aten.normal.Tensor_float, aten.normal.float_Tensor)
def normal(mean: Any, std: Any = 1.0, *, generator: Any = None) -> Tensor:
    shapes = [value.shape for value in (mean, std) if isinstance(value, Tensor)]
    shape = torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]
    dtype = mean.dtype if isinstance(mean, Tensor) else std.dtype
    result: Tensor = torch.randn(shape, dtype=dtype) * std + mean
    return result


@recipe(aten.normal.float_float)
def normal_of_size(
    mean: float, std: float, size: Any, *, dtype: torch.dtype | None = None, **_: Any
) -> Tensor:
    return torch.randn(size, dtype=_dtype(dtype, torch.get_default_dtype())) * std + mean


@recipe(aten.normal_functional.default)
def normal_functional(
    x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None
) -> Tensor:
    return torch.randn(x.shape, dtype=x.dtype) * std + mean


@recipe(aten.multinomial.default)
def multinomial(
    weights: Tensor, count: int, replacement: bool = False, *, generator: Any = None
) -> Tensor:
    """Without replacement, the largest weights over exponential times; with, by running sums."""
    wide = weights.to(torch.float64)
    if not replacement:
        times = (-torch.log(_nonzero_uniform(weights.shape))).clamp(min=2.0**-60)
        chosen: Tensor = aten.topk.default(wide / times, count)[1]
        return chosen
    totals = torch.cumsum(wide, -1)
    drawn = _uniform([*weights.shape[:-1], count]) * totals[..., -1:]
    return (totals.unsqueeze(-2) <= drawn.unsqueeze(-1)).sum(-1)


@recipe(aten.rrelu.default)
def rrelu(
    x: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    slope: Any = (lower + upper) / 2
    if training:
        slope = torch.rand(x.shape, dtype=x.dtype) * (upper - lower) + lower
        return torch.where(x <= 0, x * slope, x)
    return torch.nn.functional.leaky_relu(x, slope)
