"""Drop what nobody uses."""

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import remove_dead_code, remove_unused_state
from etlab.exir.passes.base import Pass, PassResult


class RemoveDeadCode(Pass):
    """Erase calls without users, then parameters, buffers and constants without users.

    Before: `a = relu(x); b = exp(x); return a`
    After: `a = relu(x); return a`
    """

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        changed = remove_dead_code(graph)
        return PassResult(graph, remove_unused_state(graph) or changed)
