"""Synonyms and forms of arithmetic that differ only in how they are written."""

import operator
from typing import Any

import torch
from torch import fx

from etlab.exir.decompose.plan import rule
from etlab.exir.decompose.rules.casts import cast
from etlab.exir.decompose.walk import Walk

aten = torch.ops.aten

_SYNONYMS = {
    "aten.__and__": aten.bitwise_and,
    "aten.__or__": aten.bitwise_or,
    "aten.__xor__": aten.bitwise_xor,
    "aten.__lshift__": aten.bitwise_left_shift,
    "aten.__rshift__": aten.bitwise_right_shift,
    "aten.multiply": aten.mul,
    "aten.subtract": aten.sub,
    "aten.divide": aten.div,
    "aten.true_divide": aten.div,
    "aten.greater": aten.gt,
    "aten.greater_equal": aten.ge,
    "aten.less": aten.lt,
    "aten.less_equal": aten.le,
    "aten.not_equal": aten.ne,
    "aten.negative": aten.neg,
    "aten.absolute": aten.abs,
    "aten.concat": aten.cat,
    "aten.concatenate": aten.cat,
}


def _register_synonym(name: str, packet: Any) -> None:
    source = getattr(aten, name.removeprefix("aten."))
    for overload in source.overloads():
        if "out" in overload or overload not in packet.overloads():
            continue
        target = getattr(packet, overload)

        def synonym(walk: Walk, val: Any, *args: Any, _target: Any = target, **kw: Any) -> Any:
            return walk.lower(_target, args, kw, val)

        rule(f"{name}.{overload}")(synonym)


for _name, _packet in _SYNONYMS.items():
    _register_synonym(_name, _packet)


@rule("aten.add.Scalar")
def add_scalar(walk: Walk, val: Any, tensor: fx.Node, number: Any, alpha: Any = 1) -> fx.Node:
    # The official kernel takes the tensor in the dtype of the result only.
    old = tensor.meta["val"]
    value = number.meta["val"] if isinstance(number, fx.Node) else number
    kind = {torch.SymInt: 1, torch.SymFloat: 1.0}.get(type(value), value)
    dtype = torch.result_type(torch.empty((1,) * min(old.dim(), 1), dtype=old.dtype), kind)
    result = walk.fake(old.shape, dtype) if val is None else val
    return walk.emit(aten.add.Scalar, cast(walk, tensor, dtype), number, alpha, val=result)


@rule("aten.__lshift__.Scalar")
def left_shift(walk: Walk, val: Any, tensor: fx.Node, amount: int) -> Any:
    return walk.lower(aten.bitwise_left_shift.Tensor_Scalar, (tensor, amount), {}, val)


@rule("aten.__rshift__.Scalar")
def right_shift(walk: Walk, val: Any, tensor: fx.Node, amount: int) -> Any:
    return walk.lower(aten.bitwise_right_shift.Tensor_Scalar, (tensor, amount), {}, val)


@rule("aten.clamp_min.default")
def clamp_min(walk: Walk, val: Any, tensor: fx.Node, bound: Any) -> Any:
    return walk.lower(aten.clamp.default, (tensor, bound), {}, val)


@rule("aten.clamp_max.default")
def clamp_max(walk: Walk, val: Any, tensor: fx.Node, bound: Any) -> Any:
    return walk.lower(aten.clamp.default, (tensor, None, bound), {}, val)


@rule("aten.relu6.default")
def relu6(walk: Walk, val: Any, tensor: fx.Node) -> Any:
    return walk.lower(aten.hardtanh.default, (tensor, 0.0, 6.0), {}, val)


@rule("aten.square.default")
def square(walk: Walk, val: Any, tensor: fx.Node) -> Any:
    return walk.lower(aten.mul.Tensor, (tensor, tensor), {}, val)


@rule("aten.remainder.Tensor", "aten.remainder.Scalar")
def remainder(walk: Walk, val: Any, tensor: fx.Node, divisor: Any) -> Any:
    """Of integers by division, as the official kernel gives the remainder C's sign."""
    is_tensor = isinstance(divisor, fx.Node) and isinstance(divisor.meta["val"], torch.Tensor)
    target = aten.remainder.Tensor if is_tensor else aten.remainder.Scalar
    if val is None:
        val = walk.infer(target, (tensor, divisor), {})
    if val.dtype.is_floating_point or val.dtype is torch.bool:
        return walk.emit(target, tensor, divisor, val=val)
    tensor = cast(walk, tensor, val.dtype)
    if isinstance(divisor, int) and divisor > 0 and divisor & (divisor - 1) == 0:
        return walk.emit(aten.bitwise_and.Scalar, tensor, divisor - 1, val=val)
    divisor = cast(walk, divisor, val.dtype) if is_tensor else divisor
    if not is_tensor:
        divisor = scalar_tensor(walk, divisor, val.dtype)
    quotient = walk.emit(aten.floor_divide.default, tensor, divisor, val=val)
    multiple = walk.emit(aten.mul.Tensor, quotient, divisor, val=val)
    return walk.emit(aten.sub.Tensor, tensor, multiple, val=val)


@rule("aten.sum.default")
def sum_all(walk: Walk, val: Any, tensor: fx.Node, *, dtype: Any = None) -> Any:
    return walk.emit(aten.sum.dim_IntList, tensor, [], False, dtype=dtype, val=val)


@rule("aten.mean.default")
def mean_all(walk: Walk, val: Any, tensor: fx.Node, *, dtype: Any = None) -> Any:
    dims = list(range(tensor.meta["val"].dim()))
    return walk.lower(aten.mean.dim, (tensor, dims, False), {"dtype": dtype}, val)


@rule("aten.masked_fill.Tensor")
def masked_fill(walk: Walk, val: Any, tensor: fx.Node, mask: fx.Node, value: fx.Node) -> Any:
    filling = cast(walk, value, tensor.meta["val"].dtype)
    return walk.emit(aten.where.self, mask, filling, tensor, val=val)


@rule("aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def where_scalar(walk: Walk, val: Any, condition: fx.Node, first: Any, second: Any) -> Any:
    if val is None:
        val = walk.infer(aten.where, (condition, first, second), {})

    def as_tensor(value: Any) -> fx.Node:
        if isinstance(value, fx.Node) and isinstance(value.meta["val"], torch.Tensor):
            return value
        return scalar_tensor(walk, value, val.dtype)

    return walk.emit(aten.where.self, condition, as_tensor(first), as_tensor(second), val=val)


def scalar_tensor(walk: Walk, value: Any, dtype: torch.dtype) -> fx.Node:
    """A 0-d tensor of a number: a constant, or computed when the number is symbolic."""
    if isinstance(value, fx.Node):
        return walk.emit(aten.scalar_tensor.default, value, dtype=dtype, val=walk.fake((), dtype))
    return walk.constant(torch.tensor(value, dtype=dtype))


@rule("aten.item.default")
def item(walk: Walk, val: Any, tensor: fx.Node) -> fx.Node:
    return walk.raw(aten._local_scalar_dense.default, (tensor,), {}, val)


@rule("aten._local_scalar_dense.default")
def local_scalar_dense(walk: Walk, val: Any, tensor: fx.Node) -> fx.Node:
    return walk.raw(aten._local_scalar_dense.default, (tensor,), {}, val)


@rule("aten.sym_size.int", "aten.size.int")
def sym_size(walk: Walk, val: Any, tensor: fx.Node, dim: int) -> Any:
    size = tensor.meta["val"].shape[dim]
    if isinstance(size, int):
        return size
    return walk.raw(aten.sym_size.int, (tensor, dim), {}, size if val is None else val)


@rule("aten.sym_numel.default")
def sym_numel(walk: Walk, val: Any, tensor: fx.Node) -> Any:
    result: Any = 1
    value: Any = 1
    for dim, size in enumerate(tensor.meta["val"].shape):
        factor = sym_size(walk, None, tensor, dim)
        value = value * size
        if isinstance(result, int) and isinstance(factor, int):
            result = result * factor
        else:
            result = walk.raw(operator.mul, (result, factor), {}, value)
    return result
