"""A subgraph in a backend's hands, and those in a graph."""

from torch import fx

from etlab.exir.partition.delegate import LoweredModule as LoweredBackendModule
from etlab.exir.partition.delegate import executorch_call_delegate

__all__ = ["LoweredBackendModule", "executorch_call_delegate", "get_lowered_submodules"]


def get_lowered_submodules(
    graph_module: fx.GraphModule,
) -> list[tuple[str, LoweredBackendModule, fx.Node]]:
    """Name, module and call of every delegate in a graph."""
    return [
        (str(node.args[0]), getattr(graph_module, str(node.args[0])), node)
        for node in graph_module.graph.nodes
        if node.target is executorch_call_delegate
    ]
