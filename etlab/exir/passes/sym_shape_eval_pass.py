"""Upper bounds of dynamic sizes, from the constraints of the export."""

from etlab.exir.edge import EdgeGraph
from etlab.exir.passes.base import Pass, PassResult


class ConstraintBasedSymShapeEvalPass(Pass):
    """Memory for the largest sizes that the constraints allow.

    etlab plans so in any case (`etlab.exir.specs.Bounds`); named in a configuration, it says so.
    """

    def run(self, graph: EdgeGraph) -> PassResult:
        """Leave `graph` as it is."""
        return PassResult(graph, changed=False)
