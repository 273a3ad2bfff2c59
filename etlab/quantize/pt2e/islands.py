"""Operators that integers would only surround: between floats, far from every layer."""

from collections.abc import Callable

from torch import fx


def islands(
    graph: fx.Graph,
    may_be_integer: Callable[[fx.Node], bool],
    is_layer: Callable[[fx.Node], bool],
) -> set[fx.Node]:
    """Groups of operators that read what floats made, and whose results only floats read.

    Before: `sqrt(pow(a) + pow(b))`, or `rsqrt(mean(pow(x)) + eps)`
    There integers save nothing, for every value is converted on both sides, and cost much: eight
    bits of a square are four of what its root is.

    Args:
        graph: of `torch.export`, before decomposition.
        may_be_integer: whether an operator has a rule, be it followed here or not.
        is_layer: whether it computes with integer weights; it and its neighbours are no island.

    Returns:
        The members of all groups that touch no layer, no input and no output of the graph.
    """
    members = {node for node in graph.nodes if may_be_integer(node)}
    alone: set[fx.Node] = set()
    seen: set[fx.Node] = set()
    for start in graph.nodes:
        if start not in members or start in seen:
            continue
        group, touches = _group(start, members, is_layer)
        seen |= group
        if not touches:
            alone |= group
    return alone


def _group(
    start: fx.Node, members: set[fx.Node], is_layer: Callable[[fx.Node], bool]
) -> tuple[set[fx.Node], bool]:
    """The members that values lead to from one of them, and whether they touch more than floats."""
    group, waiting, touches = {start}, [start], False
    while waiting:
        node = waiting.pop()
        touches = touches or is_layer(node)
        for other in (*node.all_input_nodes, *node.users):
            touches = touches or other.op in ("placeholder", "output")
            if other in members and other not in group:
                group.add(other)
                waiting.append(other)
    return group, touches
