"""Tags of constants, and graphs as text with the delegates open."""

from torch import fx

from etlab.exir.partition.delegate import LoweredModule, executorch_call_delegate
from etlab.exir.partition.helpers import tag_constant_data

__all__ = ["format_delegated_graph", "print_delegated_graph", "tag_constant_data"]


def format_delegated_graph(graph_module: fx.GraphModule) -> str:
    """A graph, a line a node, and under every call of a delegate what stands in it."""
    lines: list[str] = []
    for node in graph_module.graph.nodes:
        lines.append(node.format_node() or str(node))
        if node.target is executorch_call_delegate:
            lowered = getattr(graph_module, str(node.args[0]))
            assert isinstance(lowered, LoweredModule)
            lines.append(f"  {lowered.backend_id}:")
            lines += [
                f"    {inner.format_node() or inner}" for inner in lowered.original.graph.nodes
            ]
    return "\n".join(lines)


def print_delegated_graph(graph_module: fx.GraphModule) -> None:
    """Print `format_delegated_graph`."""
    print(format_delegated_graph(graph_module))
