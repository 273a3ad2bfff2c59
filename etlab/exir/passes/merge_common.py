"""Compute once what is computed twice."""

from collections.abc import Hashable
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import is_getitem, replace
from etlab.exir.passes.base import Pass, PassResult


class MergeCommon(Pass):
    """Replace a call by an earlier one of the same operator on the same arguments.

    Before: `a = exp(x); b = exp(x); return a + b`
    After: `a = exp(x); return a + a`, and `a` remembers that it is `b`, too (`merged_from`)

    Random numbers are never merged, nor are two results that are both returned: the caller may
    write into one of them. A body of control flow is searched on its own.
    """

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        first: dict[Hashable, fx.Node] = {}
        changed = False
        for node in graph.graph.nodes:
            if not _is_mergeable(node):
                continue
            earlier = first.setdefault((node.target, _key(node.args), _key(node.kwargs)), node)
            if earlier is node or (_is_returned(earlier) and _is_returned(node)):
                continue
            _remember(earlier, node)
            replace(node, earlier)
            changed = True
        for body in graph.submodules.values():
            if isinstance(body, EdgeGraph):
                changed = self.run(body).changed or changed
        return PassResult(graph, changed)


def _is_mergeable(node: fx.Node) -> bool:
    if node.op != "call_function":
        return False
    if is_getitem(node):
        return True
    target: Any = node.target
    return (
        isinstance(target, OpOverload)
        and torch.Tag.nondeterministic_seeded not in target.tags
        and not target._schema.is_mutable
    )


def _remember(earlier: fx.Node, node: fx.Node) -> None:
    """Note on the node that stays where the other one came from."""
    own = earlier.meta.get("from_node", earlier.name)
    known = dict.fromkeys(earlier.meta.get("merged_from", ()))
    known |= dict.fromkeys(
        (*node.meta.get("merged_from", ()), node.meta.get("from_node", node.name))
    )
    known.pop(own, None)
    if known:
        earlier.meta = {**earlier.meta, "merged_from": tuple(known)}


def _is_returned(node: fx.Node) -> bool:
    return any(user.op == "output" for user in node.users)


def _key(value: Any) -> Hashable:
    """Equal for equal arguments; numbers of two types differ, and zeros of two signs."""
    if isinstance(value, fx.Node):
        return value
    if isinstance(value, list | tuple):
        return (len(value), *map(_key, value))
    if isinstance(value, dict):
        return tuple((name, _key(value[name])) for name in sorted(value))
    return (type(value), repr(value) if isinstance(value, float) else value)
