"""What a pass is."""

from dataclasses import dataclass

from etlab.exir.edge import EdgeGraph


@dataclass(frozen=True, slots=True)
class PassResult:
    """What a pass did: the graph (the one it was given, edited) and whether it changed."""

    graph: EdgeGraph
    changed: bool


class Pass:
    """One rewrite of an `EdgeGraph`, in place.

    A pass may assume a verified graph and must leave one. It neither prints, logs nor times; the
    manager does. New nodes get `meta["val"]` and the provenance of the node they replace
    (`etlab.exir.graph` has the helpers).
    """

    @property
    def name(self) -> str:
        """The class name, as it stands in reports."""
        return type(self).__name__

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        raise NotImplementedError

    def requires(self, graph: EdgeGraph) -> None:
        """Raise `LoweringError` when the graph is not what this pass can start from."""

    def ensures(self, graph: EdgeGraph) -> None:
        """Raise `LoweringError` when the pass broke its promise."""
