"""Tensors out of nothing."""

from typing import Any

import torch
from torch import fx

from etlab.exir.decompose.plan import rule
from etlab.exir.decompose.walk import Walk

aten = torch.ops.aten


def full(walk: Walk, sizes: Any, value: Any, dtype: torch.dtype, shape: Any) -> fx.Node:
    """A tensor of one number; `shape` are the sizes as values, `sizes` as arguments."""
    return walk.emit(
        aten.full.default, list(sizes), value, dtype=dtype, val=walk.fake(shape, dtype)
    )


def _values(sizes: Any) -> list[Any]:
    return [size.meta["val"] if isinstance(size, fx.Node) else size for size in sizes]


@rule("aten.zeros.default", "aten.empty.memory_format", "aten.new_zeros.default")
@rule("aten.new_empty.default")
def zeros(walk: Walk, val: Any, *args: Any, dtype: torch.dtype | None = None, **_: Any) -> fx.Node:
    return _filled(walk, 0, args, dtype)


@rule("aten.ones.default", "aten.new_ones.default")
def ones(walk: Walk, val: Any, *args: Any, dtype: torch.dtype | None = None, **_: Any) -> fx.Node:
    return _filled(walk, 1, args, dtype)


def _filled(walk: Walk, value: int, args: Any, dtype: torch.dtype | None) -> fx.Node:
    if isinstance(args[0], fx.Node) and isinstance(args[0].meta["val"], torch.Tensor):
        dtype = dtype or args[0].meta["val"].dtype
    sizes = args[-1]
    dtype = dtype or torch.get_default_dtype()
    return full(
        walk, sizes, (dtype.is_floating_point and float(value)) or value, dtype, _values(sizes)
    )


@rule("aten.full.default")
def full_(
    walk: Walk, val: Any, sizes: Any, value: Any, *, dtype: torch.dtype | None = None, **_: Any
) -> fx.Node:
    if dtype is None:
        dtype = val.dtype if val is not None else torch.full((), _values([value])[0]).dtype
    return full(walk, sizes, value, dtype, _values(sizes))


@rule("aten.new_full.default")
def new_full(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    sizes: Any,
    value: Any,
    *,
    dtype: torch.dtype | None = None,
    **_: Any,
) -> fx.Node:
    return full(walk, sizes, value, dtype or tensor.meta["val"].dtype, _values(sizes))


def _like(value: Any) -> Any:
    def like(
        walk: Walk, val: Any, tensor: fx.Node, *, dtype: torch.dtype | None = None, **_: Any
    ) -> fx.Node:
        old = tensor.meta["val"]
        return full(walk, walk.size_arguments(tensor), value, dtype or old.dtype, old.shape)

    return like


rule("aten.zeros_like.default", "aten.empty_like.default")(_like(0))
rule("aten.ones_like.default")(_like(1))


@rule("aten.full_like.default")
def full_like(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    value: Any,
    *,
    dtype: torch.dtype | None = None,
    **_: Any,
) -> fx.Node:
    old = tensor.meta["val"]
    return full(walk, walk.size_arguments(tensor), value, dtype or old.dtype, old.shape)


@rule("aten.fill.Scalar", "aten.fill.Tensor", "aten.zero.default")
def fill(walk: Walk, val: Any, tensor: fx.Node, value: Any = 0) -> Any:
    old = tensor.meta["val"]
    sizes = walk.size_arguments(tensor)
    if isinstance(value, fx.Node) and isinstance(value.meta["val"], torch.Tensor):
        from etlab.exir.decompose.rules.casts import cast

        return walk.emit(aten.expand_copy.default, cast(walk, value, old.dtype), sizes, val=old)
    return full(walk, sizes, value, old.dtype, old.shape)


@rule("aten.copy_.default")
def copy_(
    walk: Walk, val: Any, tensor: fx.Node, source: fx.Node, non_blocking: bool = False
) -> fx.Node:
    return walk.write(tensor, source)


@rule("aten.copy.default")
def copy(
    walk: Walk, val: Any, tensor: fx.Node, source: fx.Node, non_blocking: bool = False
) -> fx.Node:
    from etlab.exir.decompose.rules.casts import cast

    old = tensor.meta["val"]
    value = cast(walk, source, old.dtype)
    if tuple(value.meta["val"].shape) == tuple(old.shape):
        return value
    return walk.emit(aten.expand_copy.default, value, walk.size_arguments(tensor), val=old)


@rule("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
def arange(walk: Walk, val: Any, *args: Any, dtype: torch.dtype | None = None, **_: Any) -> fx.Node:
    start, end, step = (
        (0, args[0], 1) if len(args) == 1 else (args[0], args[1], args[2] if len(args) > 2 else 1)
    )
    if val is None:
        val = walk.infer(aten.arange.start_step, (start, end, step), {"dtype": dtype})
    return walk.emit(aten.arange.start_step, start, end, step, dtype=val.dtype, val=val)


@rule("aten.scalar_tensor.default")
def scalar_tensor(
    walk: Walk, val: Any, value: Any, *, dtype: torch.dtype | None = None, **_: Any
) -> fx.Node:
    from etlab.exir.decompose.rules.arithmetic import scalar_tensor as made

    number = value.meta["val"] if isinstance(value, fx.Node) else value
    if dtype is None:
        dtype = val.dtype if val is not None else torch.scalar_tensor(float(number)).dtype
    return made(walk, value, dtype)
