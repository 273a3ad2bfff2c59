"""Assertions about values: kept where the program itself does not already see to them."""

import operator
import re
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import fx

from etlab.exir import assertions
from etlab.exir.decompose.plan import rule
from etlab.exir.decompose.walk import Walk
from etlab.exir.ops import PRIM_OPERATORS
from etlab.exir.provenance import place_in

aten = torch.ops.aten
_TORCH_TEXT = re.compile(r"Runtime assertion failed for expression (.*) on node '.*'")


@rule("aten._assert_tensor_metadata.default", "aten._linalg_check_errors.default")
def nothing(walk: Walk, val: Any, *args: Any, **kwargs: Any) -> None:
    """What the shapes of the program imply, and checks of torch's own solvers: dropped."""


@rule("aten._assert_scalar.default")
def assert_scalar(walk: Walk, val: Any, condition: Any, message: str = "") -> None:
    if not isinstance(condition, fx.Node) or _holds_anyway(condition):
        return
    expression = _TORCH_TEXT.sub(r"\1", message)
    missing = _not_served(condition)
    if missing is not None:
        warnings.warn(
            f"the assertion {expression}{_place(walk)} is not kept: no operator of a program"
            f" computes {missing}",
            stacklevel=2,
        )
        return
    text = f"{assertions.PREFIX}{_place(walk)}: {expression}{_meaning(walk, condition)}"
    walk.raw(assertions.SCALAR, (condition, text), {}, None)


@rule("aten._assert_async.default", "aten._assert_async.msg")
def assert_tensor(walk: Walk, val: Any, condition: fx.Node, message: str = "") -> None:
    if condition.meta["val"].dtype is not torch.bool:
        wanted = walk.fake(condition.meta["val"].shape, torch.bool)
        condition = walk.emit(aten.ne.Scalar, condition, 0, val=wanted)
    what = message or f"'{condition.name}' is false"
    walk.raw(assertions.TENSOR, (condition, f"{assertions.PREFIX}{_place(walk)}: {what}"), {}, None)


@rule("aten._functional_assert_async.msg")
def functional_assert(walk: Walk, val: Any, condition: fx.Node, message: str, token: Any) -> Any:
    assert_tensor(walk, None, condition, message)
    return token


@rule("aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default")
def constrain_range(
    walk: Walk, val: Any, size: Any, *, min: int | None = None, max: int | None = None
) -> None:
    for compare, sign, bound in ((operator.ge, ">=", min), (operator.le, "<=", max)):
        if bound is not None and isinstance(size, fx.Node):
            symbolic = compare(size.meta["val"], bound)
            if isinstance(symbolic, torch.SymBool):
                condition = walk.raw(compare, (size, bound), {}, symbolic)
                assert_scalar(walk, None, condition, f"{size.meta['val']} {sign} {bound}")


@rule("aten._functional_sym_constrain_range.default")
def functional_constrain(
    walk: Walk, val: Any, size: Any, min: int | None, max: int | None, token: Any
) -> Any:
    constrain_range(walk, None, size, min=min, max=max)
    return token


def _holds_anyway(condition: fx.Node) -> bool:
    """Whether the program cannot get past the condition's own operands unless it holds.

    A size found at run time is no less than 0, and no more than its tensor has memory for. The
    sizes of inputs are checked at every call.
    """
    value = condition.meta["val"]
    if not isinstance(value, torch.SymBool):
        return bool(value)
    environment = value.node.shape_env
    symbols = value.node.expr.free_symbols
    if symbols <= environment.backed_var_to_val.keys():
        from torch.utils._sympy.value_ranges import bound_sympy

        return bool(bound_sympy(value.node.expr, environment.var_to_range).is_singleton())
    if len(condition.args) != 2:
        return False
    size, bound = condition.args
    if not isinstance(size, fx.Node) or size.target is not aten.sym_size.int:
        return False
    if not isinstance(bound, int) or not size.meta["val"].node.expr.is_Symbol:
        return False
    is_least = condition.target is operator.ge and bound <= 0
    return is_least or condition.target in (operator.le, operator.lt)


def _not_served(condition: fx.Node) -> str | None:
    """A function of numbers on the way to `condition` that no program computes."""
    pending, seen = [condition], {condition}
    while pending:
        node = pending.pop()
        if isinstance(node.meta.get("val"), torch.Tensor) or node.op == "placeholder":
            continue
        if node.target not in PRIM_OPERATORS:
            return str(getattr(node.target, "__name__", node.target))
        new = [source for source in node.all_input_nodes if source not in seen]
        seen.update(new)
        pending += new
    return None


def _place(walk: Walk) -> str:
    """` at model.py:12`: the innermost line of the model that led here; no folder, no code."""
    file, line, _ = place_in(walk.provenance.get("stack_trace") or "")
    return f" at {Path(file).name}:{line}" if file else ""


def _meaning(walk: Walk, condition: fx.Node) -> str:
    """`, where u0 is the value of 'item'`: what the symbols of a condition are."""
    said: list[str] = []
    value = condition.meta["val"]
    symbols = value.node.expr.free_symbols if isinstance(value, torch.SymBool) else ()
    for symbol in sorted(symbols, key=str):
        node = walk.symbols.find(symbol)
        if node is None or not node.args:
            continue
        if node.target is aten.sym_size.int:
            said.append(f"{symbol} is size {node.args[1]} of '{node.args[0]}'")
        elif node.target is aten._local_scalar_dense.default:
            said.append(f"{symbol} is the value of '{node.args[0]}'")
    return f", where {' and '.join(said)}" if said else ""
