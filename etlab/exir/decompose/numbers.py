"""Arithmetic on sizes and other numbers that a program knows only when it runs."""

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from etlab.exir.decompose.aliases import BeyondWalkError

if TYPE_CHECKING:
    from etlab.exir.decompose.walk import Walk

aten = torch.ops.aten

# Up to this exponent a power is written as multiplications.
_LARGEST_POWER = 8

# Functions that no runtime has for numbers, and the operator that computes them for tensors.
_THROUGH_TENSORS: dict[Any, Any] = {
    math.floor: aten.floor.default,
    **{
        getattr(torch, f"_sym_{name}"): getattr(aten, name).default
        for name in [
            "sqrt",
            "cos",
            "cosh",
            "sin",
            "sinh",
            "tan",
            "tanh",
            "asin",
            "acos",
            "atan",
            "log2",
        ]
    },
}


def lower_number(walk: "Walk", target: Any, args: tuple[Any, ...], val: Any) -> Any:
    """Bring over a call of a Python function on numbers."""
    if target is operator.pow and isinstance(args[0], fx.Node) and _is_small(args[1]):
        return _power(walk, args[0], args[1])
    if target is operator.pow and not isinstance(args[1], fx.Node):
        tensor = _as_tensor(walk, args[0])
        power = walk.emit(aten.pow.Tensor_Scalar, tensor, args[1], val=tensor.meta["val"])
        return _as_number(walk, power, val)
    if target in _LOGIC and isinstance(val, torch.SymBool):
        return _LOGIC[target](walk, val, *args)
    if target in _THROUGH_TENSORS:
        tensor = _as_tensor(walk, args[0])
        result = walk.emit(_THROUGH_TENSORS[target], tensor, val=tensor.meta["val"])
        return _as_number(walk, result, val)
    if isinstance(val, torch.Tensor):
        name = getattr(target, "__name__", str(target))
        raise BeyondWalkError(f"a mapped function (torch.vmap) calls {name}")
    return walk.raw(target, args, {}, val)


def _both(walk: "Walk", val: Any, first: Any, second: Any) -> fx.Node:
    return walk.raw(torch.sym_ite, (first, second, False), {}, val)


def _any_of_two(walk: "Walk", val: Any, first: Any, second: Any) -> fx.Node:
    return walk.raw(torch.sym_ite, (first, True, second), {}, val)


def _differ(walk: "Walk", val: Any, first: Any, second: Any) -> fx.Node:
    negation: Any = torch.sym_not  # torch's is untyped
    same = walk.raw(operator.eq, (first, second), {}, negation(val))
    return walk.raw(negation, (same,), {}, val)


# Truths, of which a program has "not" and "if" only.
_LOGIC: dict[Any, Callable[..., fx.Node]] = {
    operator.and_: _both,
    operator.or_: _any_of_two,
    operator.ne: _differ,
}


def _is_small(exponent: Any) -> bool:
    return isinstance(exponent, int) and 1 <= exponent <= _LARGEST_POWER


def _power(walk: "Walk", base: fx.Node, exponent: int) -> fx.Node:
    result = base
    for _ in range(exponent - 1):
        product = result.meta["val"] * base.meta["val"]
        result = walk.raw(operator.mul, (result, base), {}, product)
    return result


def _as_tensor(walk: "Walk", number: Any) -> fx.Node:
    val = walk.fake((), torch.float64)
    return walk.emit(aten.scalar_tensor.default, number, dtype=torch.float64, val=val)


def _as_number(walk: "Walk", tensor: fx.Node, val: Any) -> fx.Node:
    if isinstance(val, torch.SymFloat | float):
        return walk.raw(aten._local_scalar_dense.default, (tensor,), {}, val)
    size: Any = torch.sym_float  # torch's is untyped
    number = walk.raw(aten._local_scalar_dense.default, (tensor,), {}, size(val))
    return walk.raw(torch.sym_int, (number,), {}, val)
