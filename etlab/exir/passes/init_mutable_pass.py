"""Initial values of state."""

from collections.abc import Sequence

from etlab.exir.edge import EdgeGraph
from etlab.exir.passes.base import Pass, PassResult


class InitializedMutableBufferPass(Pass):
    """State begins with the values that its buffers have.

    etlab stores them for every buffer; named in a configuration, it says so.

    Args:
        patterns: parts of buffers' names.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self.patterns = list(patterns)

    def run(self, graph: EdgeGraph) -> PassResult:
        """Leave `graph` as it is."""
        return PassResult(graph, changed=False)
