"""Complex numbers by their parts."""

import math

import torch
from torch import Tensor

from etlab.exir.decompose.recipes import recipe

aten = torch.ops.aten


@recipe(aten._conj.default)
def conj(x: Tensor) -> Tensor:
    result: Tensor = aten._conj_physical.default(x)
    return result


@recipe(aten.complex.default)
def make_complex(real: Tensor, imaginary: Tensor) -> Tensor:
    shape = torch.broadcast_shapes(real.shape, imaginary.shape)  # type: ignore[no-untyped-call]
    parts = torch.stack([real.expand(shape), imaginary.expand(shape)], -1)
    return torch.view_as_complex(parts)


@recipe(aten.polar.default)
def polar(magnitude: Tensor, angle: Tensor) -> Tensor:
    result: Tensor = make_complex(magnitude * torch.cos(angle), magnitude * torch.sin(angle))
    return result


@recipe(aten.angle.default)
def angle(x: Tensor) -> Tensor:
    if x.is_complex():
        parts = torch.view_as_real(x)
        return torch.atan2(parts[..., 1], parts[..., 0])
    if not x.is_floating_point():
        x = x.to(torch.float32)
    return torch.where(torch.isnan(x), x, torch.where(x < 0, math.pi, 0.0).to(x.dtype))
