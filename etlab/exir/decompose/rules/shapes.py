"""Views and reshapes."""

import operator
from functools import reduce
from typing import Any

import torch
from torch import fx

from etlab.exir.decompose.layouts import is_contiguous, is_view
from etlab.exir.decompose.plan import rule
from etlab.exir.decompose.walk import Walk

aten = torch.ops.aten


def view_of(walk: Walk, tensor: fx.Node, sizes: Any, val: Any) -> fx.Node:
    """`tensor` seen with other sizes: a view of it, or a copy where eager makes one."""
    if walk.shared.mutates and not is_view(walk.eager_val(tensor), val):
        return walk.emit(aten.view_copy.default, tensor, sizes, val=val)
    if tuple(val.shape) == tuple(tensor.meta["val"].shape):
        return tensor
    node = walk.emit(aten.view_copy.default, tensor, sizes, val=val)
    walk.aliases.add_view(node, tensor, aten.view.default, (sizes,), {})
    return node


@rule("aten.view.default", "aten._unsafe_view.default", "aten._reshape_alias.default")
def view(walk: Walk, val: Any, tensor: fx.Node, sizes: Any, *_: Any) -> fx.Node:
    if val is None:
        val = walk.infer(aten.view.default, (tensor, sizes), {})
    return view_of(walk, tensor, list(sizes), val)


@rule("aten.reshape.default")
def reshape(walk: Walk, val: Any, tensor: fx.Node, sizes: Any) -> fx.Node:
    if val is None:
        val = walk.infer(aten.reshape.default, (tensor, sizes), {})
    return view_of(walk, tensor, list(sizes), val)


@rule("aten.flatten.using_ints")
def flatten(
    walk: Walk, val: Any, tensor: fx.Node, start_dim: int = 0, end_dim: int = -1
) -> fx.Node:
    shape = list(tensor.meta["val"].shape)
    rank = len(shape)
    if rank == 0:
        return view_of(walk, tensor, [1], walk.fake([1], tensor.meta["val"].dtype))
    start, end = start_dim % rank, end_dim % rank
    merged = [*shape[:start], reduce(operator.mul, shape[start : end + 1], 1), *shape[end + 1 :]]
    if val is None:
        val = walk.fake(merged, tensor.meta["val"].dtype)
    return view_of(walk, tensor, walk.symbols.arguments(val.shape), val)


@rule("aten.unflatten.int", "aten.view_as.default", "aten.reshape_as.default")
def to_known_size(walk: Walk, val: Any, tensor: fx.Node, *rest: Any, **kwargs: Any) -> fx.Node:
    if val is None:
        sizes = rest[0].meta["val"].shape if isinstance(rest[0], fx.Node) else None
        if sizes is None:
            val = walk.infer(aten.unflatten.int, (tensor, *rest), kwargs)
        else:
            val = walk.fake(sizes, tensor.meta["val"].dtype)
    return view_of(walk, tensor, walk.symbols.arguments(val.shape), val)


@rule("aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims")
def squeeze(walk: Walk, val: Any, tensor: fx.Node, dim: Any = None) -> fx.Node:
    shape = tensor.meta["val"].shape
    rank = len(shape)
    wanted = range(rank) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = [d % rank for d in wanted if rank and shape[d % rank] == 1] if rank else []
    kept = [size for index, size in enumerate(shape) if index not in dims]
    if not dims:
        return tensor
    val = walk.fake(kept, tensor.meta["val"].dtype)
    node = walk.emit(aten.squeeze_copy.dims, tensor, dims, val=val)
    walk.aliases.add_view(node, tensor, aten.squeeze.dims, (dims,), {})
    return node


@rule("aten.expand.default")
def expand(walk: Walk, val: Any, tensor: fx.Node, sizes: Any, *, implicit: bool = False) -> fx.Node:
    if val is None:
        val = walk.infer(aten.expand.default, (tensor, sizes), {})
    if tuple(val.shape) == tuple(tensor.meta["val"].shape):
        return tensor
    node = walk.emit(aten.expand_copy.default, tensor, list(sizes), val=val)
    walk.aliases.add_view(node, tensor, aten.expand.default, (list(sizes),), {})
    return node


@rule("aten.expand_as.default")
def expand_as(walk: Walk, val: Any, tensor: fx.Node, other: fx.Node) -> Any:
    wanted = walk.fake(other.meta["val"].shape, tensor.meta["val"].dtype)
    return expand(walk, wanted, tensor, walk.size_arguments(other))


@rule("aten.slice.Tensor")
def slice_(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: int = 1,
) -> fx.Node:
    size = tensor.meta["val"].shape[dim]
    is_all = start in (None, 0) and isinstance(size, int) and isinstance(end, int | None)
    if is_all and (end is None or end >= size) and step == 1:
        return tensor
    arguments = (dim, start, end, step)
    node = walk.emit(aten.slice_copy.Tensor, tensor, *arguments, val=val)
    walk.aliases.add_view(node, tensor, aten.slice.Tensor, arguments, {})
    return node


@rule("aten.detach.default", "aten.alias.default", "aten.lift_fresh.default", "aten.lift.default")
@rule("aten.positive.default", "aten.detach_.default", "aten.resolve_conj.default")
@rule("aten.resolve_neg.default", "aten.requires_grad_.default", "aten.contiguous_.default")
def unchanged(walk: Walk, val: Any, tensor: fx.Node, *_: Any, **__: Any) -> fx.Node:
    return tensor


@rule("aten.lift_fresh_copy.default", "aten.alias_copy.default", "aten.detach_copy.default")
@rule("aten.clone.default")
def copied(walk: Walk, val: Any, tensor: fx.Node, **_: Any) -> fx.Node:
    # An explicit clone survives: a pass drops it where nobody can tell.
    return walk.emit(aten.clone.default, tensor, val=tensor.meta["val"])


@rule("aten.contiguous.default")
def contiguous(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    *,
    memory_format: torch.memory_format = torch.contiguous_format,
) -> fx.Node:
    if walk.shared.mutates and not is_contiguous(walk.eager_val(tensor), memory_format):
        return walk.emit(aten.clone.default, tensor, val=tensor.meta["val"])
    return tensor
