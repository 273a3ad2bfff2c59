"""What is done with an operator that an exported graph holds."""

import enum
import functools
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from torch._ops import OpOverload

from etlab.exir.decompose.operators import (
    EXPANDED_LATER,
    copy_variant,
    decomposition_table,
    has_kernel,
    has_python_body,
    is_composite,
    is_view,
    is_write,
)

Rule = Callable[..., Any]

_rules: dict[str, Rule] = {}


class Kind(enum.Enum):
    """The ways to bring one operator into the edge graph."""

    RULE = "a direct rule makes the new nodes"
    KEEP = "it is copied"
    VIEW = "its copying twin stands for it"
    WRITE = "its functional twin computes, the written tensor gets a new value"
    TEMPLATE = "its decomposition is recorded once and pasted"
    UNSUPPORTED = "nothing serves it"


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a direct rule for the operators `names` ("aten.linear.default").

    A rule is called as `rule(walk, val, *args, **kwargs)`: `val` is the meta value of the exported
    node (or None), tensors among the arguments are nodes of the new graph. It returns the node
    that stands for the result, or a tuple of them.
    """

    def register(function: Rule) -> Rule:
        for name in names:
            _rules[name] = function
        return function

    return register


@functools.cache
def _loaded_rules() -> dict[str, Rule]:
    from etlab.exir.decompose import rules

    for module in pkgutil.iter_modules(rules.__path__, rules.__name__ + "."):
        importlib.import_module(module.name)
    return _rules


@functools.cache
def rule_of(operator: OpOverload) -> Rule | None:
    """The direct rule of `operator`, if a file in `rules/` has one."""
    return _loaded_rules().get(str(operator))


@functools.cache
def plan(operator: OpOverload) -> Kind:
    """How `operator` comes into the edge graph."""
    if rule_of(operator) is not None:
        return Kind.RULE
    if is_write(operator):
        return Kind.WRITE
    if is_view(operator):
        if copy_variant(operator) is not None:
            return Kind.VIEW
    elif has_kernel(operator) or operator in EXPANDED_LATER:
        return Kind.KEEP
    if (
        operator in decomposition_table()
        or is_composite(operator)
        or has_python_body(operator)
        or operator.namespace in ("prims", "prim")
    ):
        return Kind.TEMPLATE
    return Kind.UNSUPPORTED
