"""Results that are as long as the values of their input say."""

from typing import Any

import torch
from torch import Tensor, fx

from etlab.exir.decompose.paste import paste
from etlab.exir.decompose.plan import rule
from etlab.exir.decompose.walk import Walk

aten = torch.ops.aten


def _indices_and_largest(x: Tensor) -> tuple[Tensor, Tensor]:
    indices = x.to(torch.int64)
    none = torch.full((1,), -1, dtype=torch.int64)  # no place is needed where there is no number
    return indices, torch.amax(torch.cat([none, indices]), [0]) + 1


@rule("aten.repeat_interleave.self_Tensor")
def repeat_interleave(
    walk: Walk,
    val: Any,
    x: fx.Node,
    repeats: fx.Node,
    dim: int | None = None,
    *,
    output_size: Any = None,
) -> Any:
    if dim is None:
        x, dim = walk.lower(aten.reshape.default, (x, [-1]), {}), 0
    size = x.meta["val"].shape[dim]
    if repeats.meta["val"].numel() == 1:
        wanted = walk.fake((size,), repeats.meta["val"].dtype)
        sizes = walk.symbols.arguments([size])
        repeats = walk.emit(aten.expand_copy.default, repeats, sizes, val=wanted)
    places = walk.fake((val.shape[dim],), repeats.meta["val"].dtype)
    indices = walk.emit(aten.repeat_interleave.Tensor, repeats, output_size=output_size, val=places)
    return walk.lower(aten.index_select.default, (x, dim, indices), {}, val)


@rule("aten.bincount.default")
def bincount(
    walk: Walk, val: Any, x: fx.Node, weights: fx.Node | None = None, minlength: int = 0
) -> fx.Node:
    """A sum scattered into as many places as the largest number needs."""
    indices, length = paste(walk, _indices_and_largest, (x,), {}, None)
    if minlength > 0:
        length = walk.emit(aten.clamp.default, length, minlength, val=length.meta["val"])
    size = walk.raw(aten._local_scalar_dense.default, (length,), {}, val.shape[0])
    counts = walk.emit(aten.full.default, [size], 0, dtype=val.dtype, val=val)
    ones: Any = weights
    if weights is None:
        ones_like = walk.fake(x.meta["val"].shape, torch.int64)
        ones = walk.emit(aten.full_like.default, indices, 1, val=ones_like)
    elif weights.meta["val"].dtype != val.dtype:
        wanted = walk.fake(x.meta["val"].shape, val.dtype)
        ones = walk.emit(aten._to_copy.default, weights, dtype=val.dtype, val=wanted)
    return walk.emit(aten.scatter_add.default, counts, 0, indices, ones, val=val)
