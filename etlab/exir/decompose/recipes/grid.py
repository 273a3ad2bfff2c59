"""Sampling of volumes at given places."""

import itertools

import torch
from torch import Tensor

from etlab.exir.decompose.recipes import recipe

aten = torch.ops.aten

_LINEAR, _NEAREST = 0, 1
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2


def _place(coordinate: Tensor, size: int, padding: int, *, align_corners: bool) -> Tensor:
    """From [-1, 1] to elements, brought inside as `padding` says."""
    if align_corners:
        place = (coordinate + 1) / 2 * (size - 1)
        low, span = 0.0, float(size - 1)
    else:
        place = ((coordinate + 1) * size - 1) / 2
        low, span = -0.5, float(size)
    if padding == _REFLECTION:
        if span == 0:
            return torch.zeros_like(place)
        distance = (place - low).abs()
        flips = torch.floor(distance / span)
        rest = torch.fmod(distance, span)
        is_even = torch.fmod(flips, 2) == 0
        place = torch.where(is_even, rest + low, span - rest + low)
    return place if padding == _ZEROS else place.clamp(0, size - 1)


@recipe(aten.grid_sampler_3d.default)
def grid_sampler_3d(
    x: Tensor, grid: Tensor, interpolation: int, padding: int, align_corners: bool
) -> Tensor:
    batch, channels, *sizes = x.shape
    flat = x.reshape(batch, channels, -1)
    # The grid names width first, the volume depth.
    places = [
        _place(grid[..., 2 - dim], sizes[dim], padding, align_corners=align_corners)
        for dim in range(3)
    ]

    def read(corner: list[Tensor]) -> Tensor:
        index = torch.zeros_like(corner[0], dtype=torch.int64)
        is_inside = torch.ones_like(corner[0], dtype=torch.bool)
        for at, size in zip(corner, sizes, strict=True):
            is_inside = is_inside & (at >= 0) & (at <= size - 1)
            index = index * size + at.clamp(0, size - 1).to(torch.int64)
        spread = index.reshape(batch, 1, -1).expand(batch, channels, -1)
        values = flat.gather(2, spread).reshape(batch, channels, *grid.shape[1:4])
        return torch.where(is_inside.unsqueeze(1), values, 0.0)

    if interpolation == _NEAREST:
        return read([torch.round(place) for place in places])
    low = [torch.floor(place) for place in places]
    result = None
    for corner in itertools.product((0, 1), repeat=3):
        weight = torch.ones_like(low[0])
        for side, place, floor in zip(corner, places, low, strict=True):
            weight = weight * (place - floor if side else 1 - (place - floor))
        part = read([floor + side for floor, side in zip(low, corner, strict=True)])
        part = part * weight.unsqueeze(1)
        result = part if result is None else result + part
    assert result is not None
    return result
