"""Make one view of several in a row."""

from typing import Any

import torch
from torch import fx

from etlab.exir.edge import EdgeGraph
from etlab.exir.passes.base import Pass, PassResult

aten = torch.ops.aten

# The elements stay in their order; only the sizes differ.
_RESHAPES = {
    aten.view_copy.default,
    aten.unsqueeze_copy.default,
    aten.squeeze_copy.dim,
    aten.squeeze_copy.dims,
}
_REORDERS = {aten.permute_copy.default, aten.transpose_copy.int, aten.t_copy.default}


class MergeViews(Pass):
    """Let a view of a view look at the first tensor.

    Before: `b = view_copy(unsqueeze_copy(x, 0), [6]); d = permute_copy(permute_copy(y, p), q)`
    After: `b = view_copy(x, [6]); d = permute_copy(y, p then q)`

    What is then no view at all goes with `RemoveNoops`, and the first view with `RemoveDeadCode`.
    """

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        changed = False
        for node in graph.graph.nodes:
            source: Any = node.args[0] if node.op == "call_function" and node.args else None
            if not isinstance(source, fx.Node):
                continue
            if node.target in _RESHAPES and source.target in _RESHAPES:
                changed = _reshape(node, source) or changed
            elif node.target in _REORDERS and source.target in _REORDERS:
                order, before = _order(node), _order(source)
                node.target = aten.permute_copy.default
                node.args = (source.args[0], [before[dim] for dim in order])
                changed = True
        for body in graph.submodules.values():
            if isinstance(body, EdgeGraph):
                changed = self.run(body).changed or changed
        return PassResult(graph, changed)


def _reshape(node: fx.Node, source: fx.Node) -> bool:
    sizes: Any = node.args[1] if node.target is aten.view_copy.default else None
    if sizes is None:
        sizes = list(node.meta["val"].shape)
        if not all(isinstance(size, int) for size in sizes):
            return False
    node.target = aten.view_copy.default
    node.args = (source.args[0], list(sizes))
    return True


def _order(node: fx.Node) -> list[int]:
    """For each dimension of the result, the dimension of the argument."""
    rank: int = node.meta["val"].dim()
    if node.target is aten.permute_copy.default:
        given: Any = node.args[1]
        return [dim % rank for dim in given]
    order = list(range(rank))
    if rank < 2:
        return order
    pair: Any = node.args[1:3] if node.target is aten.transpose_copy.int else (0, 1)
    first, second = pair[0] % rank, pair[1] % rank
    order[first], order[second] = order[second], order[first]
    return order
