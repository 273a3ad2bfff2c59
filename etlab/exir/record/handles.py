"""Which nodes of the model every instruction of a program came from, as ETRecords say it."""

import operator
from collections.abc import Iterator, Sequence
from typing import Any

from torch import fx

from etlab.exir.edge import EdgeGraph
from etlab.exir.partition.delegate import LoweredModule, executorch_call_delegate

# By instruction: one handle, or those of all nodes of a delegate.
HandleMap = dict[int, int | list[int]]
# By instruction that calls a delegate: {"name": backend, "delegate_map": {its node: handles},
# "partial_nodes": {nodes that write no operator's result: handles}, "value_orders": {its value: how
# its dimensions lie}}; the last two are etlab's own.
DelegateMap = dict[int, dict[str, Any]]


def debug_handle_map(graph: EdgeGraph, nodes: Sequence[fx.Node | None]) -> HandleMap:
    """Debug handles by instruction.

    Args:
        graph: that the method was made from.
        nodes: of every instruction the node that it came from.
    """
    delegates = _delegates(graph)
    found: HandleMap = {}
    for instruction, node in enumerate(nodes):
        if node is None:
            continue
        if node in delegates:
            found[instruction] = _handles(delegates[node].original)
        elif handle := int(node.meta.get("debug_handle") or 0):
            found[instruction] = handle
    return found


def delegate_map(graph: EdgeGraph, nodes: Sequence[fx.Node | None]) -> DelegateMap:
    """Backends and the handles of their nodes, by instruction; arguments as `debug_handle_map`."""
    delegates = _delegates(graph)
    return {
        instruction: {
            "name": delegates[node].backend_id,
            "delegate_map": _node_handles(delegates[node], are_partial=False),
            "partial_nodes": _node_handles(delegates[node], are_partial=True),
            "value_orders": _value_orders(delegates[node]),
        }
        for instruction, node in enumerate(nodes)
        if node is not None and node in delegates
    }


def output_counts(graph: EdgeGraph, nodes: Sequence[fx.Node | None]) -> dict[int, int]:
    """How many outputs each delegate has, by instruction; arguments as `debug_handle_map`."""
    delegates = _delegates(graph)
    return {
        instruction: len(delegates[node].original.outputs)
        for instruction, node in enumerate(nodes)
        if node is not None and node in delegates
    }


def _node_handles(delegate: LoweredModule, *, are_partial: bool) -> dict[Any, Any]:
    """Handles of the nodes that write results, or of the others."""
    return {
        name: handles
        for name, handles in delegate.debug_handle_map.items()
        if (name in delegate.partial_nodes) == are_partial
    }


def _value_orders(delegate: LoweredModule) -> dict[int, tuple[int, ...]]:
    """Of values that are the result of the node that writes them: their dimensions in memory."""
    found = {}
    for value, origins in delegate.value_origins.items():
        own = [origin for origin in origins if not origin.is_copy]
        if own:
            found[value] = own[-1].order
    return found


def _delegates(graph: EdgeGraph) -> dict[fx.Node, LoweredModule]:
    """What the nodes that call a delegate call, in the bodies of control flow too."""
    found = {}
    for one in _graphs(graph):
        for node in one.graph.nodes:
            if node.target is not executorch_call_delegate:
                continue
            source: Any = node.args[0]
            lowered = one.submodules[str(source.target)]
            assert isinstance(lowered, LoweredModule)
            found[node] = lowered
    return found


def _graphs(graph: EdgeGraph) -> Iterator[EdgeGraph]:
    yield graph
    for body in graph.submodules.values():
        if isinstance(body, EdgeGraph):
            yield from _graphs(body)


def _handles(graph: EdgeGraph) -> list[int]:
    """The handles of all operators, each once, in the order of the nodes."""
    handles = [
        int(node.meta.get("debug_handle") or 0)
        for node in graph.graph.nodes
        if node.op == "call_function" and node.target is not operator.getitem
    ]
    return list(dict.fromkeys(handle for handle in handles if handle))
