"""Which nodes of a partitioned edge graph compute the values of the graph that was lowered."""

from collections.abc import Iterator

import torch
from torch import fx

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import is_getitem
from etlab.exir.partition.delegate import LoweredModule
from etlab.numerics.operators import value_of


def counterparts(edge: EdgeGraph, lowered: fx.Graph) -> dict[tuple[str, str], str]:
    """Nodes by part and name, to the lowered node whose value they compute.

    Of the nodes that came from one lowered node the last has its value, if it has its shape.

    Args:
        edge: after partitioning; a node outside of delegates has the part "".
        lowered: the graph it was made of.
    """
    sources = {node.name: node for node in lowered.nodes}
    last: dict[str, tuple[str, str]] = {}
    for part, node in _flat(edge):
        source = sources.get(str(node.meta.get("from_node")))
        value = value_of(node)
        if source is None or not isinstance(value, torch.Tensor):
            continue
        like = value_of(source)
        if isinstance(like, torch.Tensor) and like.shape == value.shape:
            last[source.name] = (part, node.name)
        else:
            last.pop(source.name, None)  # the value does not come out as it was
    return {place: source for source, place in last.items()}


def lowered_module(edge: EdgeGraph, node: fx.Node) -> LoweredModule | None:
    """What a call of a delegate calls; None for other nodes."""
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], fx.Node):
        return None
    held = edge.submodules.get(str(node.args[0].target))
    is_call = node.args[0].op == "get_attr" and isinstance(held, LoweredModule)
    return held if is_call else None


def _flat(edge: EdgeGraph) -> Iterator[tuple[str, fx.Node]]:
    """Every call with the name of its part, in order; what delegates return is in them."""
    for node in edge.graph.nodes:
        lowered = lowered_module(edge, node)
        if lowered is not None:
            part = str(node.all_input_nodes[0].target)
            calls = [one for one in lowered.original.graph.nodes if one.op == "call_function"]
            yield from ((part, one) for one in calls)
        elif node.op == "placeholder" or (
            node.op == "call_function" and not _is_result(edge, node)
        ):
            yield "", node


def _is_result(edge: EdgeGraph, node: fx.Node) -> bool:
    return is_getitem(node) and lowered_module(edge, node.all_input_nodes[0]) is not None
