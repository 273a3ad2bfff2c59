"""Compute at compile time what depends on constants only."""

from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import NewConstants, constant_placeholders, map_values, replace
from etlab.exir.passes.base import Pass, PassResult

# A result made from stored tensors may be larger than them by this much, one made from nothing
# (arange, full) may have this size.
GROWTH_BYTES = 4 * 1024
CREATED_BYTES = 64 * 1024

_LEFT_ALONE = {"quantized_decomposed", "torchao"}


class FoldConstants(Pass):
    """Replace calls whose inputs are all constants by their result, within size bounds.

    Before: `x + exp(w)`
    After: `x + w_exp`

    Dequantizations stay (folding them would store the float weights), and so does whatever would
    make the file noticeably larger.
    """

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        values: dict[fx.Node, Any] = dict(constant_placeholders(graph))
        foldable: dict[fx.Node, None] = {}
        for node in graph.graph.nodes:
            if _is_foldable(node, values, foldable):
                foldable[node] = None
        frontier = [n for n in foldable if any(user not in foldable for user in n.users)]
        added = NewConstants(graph)
        replaced: set[fx.Node] = set()
        for node in frontier:
            if any(user.op == "output" for user in node.users):
                continue
            value = _evaluate(node, values)
            if isinstance(value, torch.Tensor):
                folded = added.add(f"{node.name}_folded", value, node)
                values[folded] = value
                replace(node, folded)
                replaced.add(node)
        for node in reversed(foldable):
            if not node.users and node not in replaced:
                graph.graph.erase_node(node)
        added.finish()
        return PassResult(graph, bool(replaced))


def _is_foldable(node: fx.Node, values: dict[fx.Node, Any], foldable: dict[fx.Node, None]) -> bool:
    target: Any = node.target
    if node.op != "call_function" or not isinstance(target, OpOverload):
        return False
    if target.namespace in _LEFT_ALONE or torch.Tag.nondeterministic_seeded in target.tags:
        return False
    val = node.meta["val"]
    if not isinstance(val, torch.Tensor) or val._has_symbolic_sizes_strides:
        return False
    sources = node.all_input_nodes
    if not all(source in values or source in foldable for source in sources):
        return False
    nbytes = val.numel() * val.itemsize
    if not sources:
        return bool(nbytes <= CREATED_BYTES)
    if nbytes <= GROWTH_BYTES:
        return True
    given = sum(s.meta["val"].numel() * s.meta["val"].itemsize for s in sources)
    is_last_use = all(len(s.users) == 1 for s in sources)
    return bool(is_last_use and nbytes <= given)


def _evaluate(node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    """The value of a foldable node; remembers those on the way."""
    pending = [node]
    while pending:
        current = pending[-1]
        missing = [s for s in current.all_input_nodes if s not in values]
        if missing:
            pending += missing
            continue
        pending.pop()

        def value(leaf: Any) -> Any:
            return values[leaf] if isinstance(leaf, fx.Node) else leaf

        target: Any = current.target
        with torch.no_grad():
            values[current] = target(
                *map_values(value, tuple(current.args)), **map_values(value, current.kwargs)
            )
    return values[node]
