"""Cut tensors of dynamic size by slices."""

from typing import Any

import torch
from torch import fx

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import call_before, is_getitem, replace
from etlab.exir.passes.base import Pass, PassResult

aten = torch.ops.aten


class SliceDynamicSplits(Pass):
    """Replace splits whose results have dynamic sizes by one slice or selection a result.

    Before: `a, b = split_copy(x, 2, 1)` with x of (n, 4)
    After: `a = slice_copy(x, 1, 0, 2); b = slice_copy(x, 1, 2, 4)`

    The official kernels of these two do not give their results the sizes of the call: they refuse
    every size but the largest.
    """

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        changed = False
        for node in graph.graph.nodes:
            cut = _CUTS.get(node.target)
            if cut is None or not any(v._has_symbolic_sizes_strides for v in node.meta["val"]):
                continue
            dim = node.args[cut] if len(node.args) > cut else node.kwargs.get("dim", 0)
            parts = [val.shape for val in node.meta["val"]]
            is_unbound = node.target is aten.unbind_copy.int
            if not is_unbound and not all(isinstance(shape[dim], int) for shape in parts):
                continue
            for user in list(node.users):
                assert is_getitem(user)
                index: Any = user.args[1]
                val = user.meta["val"]
                if is_unbound:
                    made = _call(node, aten.select_copy.int, dim, index, val=val)
                else:
                    start = sum(shape[dim] for shape in parts[:index])
                    end = start + parts[index][dim]
                    made = _call(node, aten.slice_copy.Tensor, dim, start, end, val=val)
                replace(user, made)
            graph.graph.erase_node(node)
            changed = True
        for body in graph.submodules.values():
            if isinstance(body, EdgeGraph):
                changed = self.run(body).changed or changed
        return PassResult(graph, changed)


# Operators with the place of their dimension.
_CUTS: dict[Any, int] = {
    aten.split_copy.Tensor: 2,
    aten.unbind_copy.int: 1,
}


def _call(node: fx.Node, target: Any, *args: Any, val: Any) -> fx.Node:
    return call_before(node, target, (node.args[0], *args), val=val)
