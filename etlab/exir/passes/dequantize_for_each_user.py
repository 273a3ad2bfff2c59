"""A pass: every operator has dequantize nodes of its own, so that it can take them along."""

from torch import fx

from etlab.exir.edge import EdgeGraph
from etlab.exir.passes.base import Pass, PassResult

_DEQUANTIZE = ("quantized_decomposed.dequantize_", "torchao.dequantize_affine.")


class DequantizeForEachUser(Pass):
    """Copy dequantize nodes that several operators use.

    Before: `d = dequantize(q); add(d, x); mul(d, y)`
    After: `add(dequantize(q), x); mul(dequantize(q), y)`
    """

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        changed = False
        for node in list(graph.graph.nodes):
            if str(node.target).startswith(_DEQUANTIZE) and len(node.users) > 1:
                for user in [user for user in node.users if user.op != "output"][1:]:
                    user.replace_input_with(node, _copy(node))
                    changed = True
        return PassResult(graph, changed)


def _copy(node: fx.Node) -> fx.Node:
    with node.graph.inserting_after(node):
        new = node.graph.call_function(node.target, node.args, node.kwargs)  # type: ignore[arg-type]
    new.meta = dict(node.meta)
    return new
