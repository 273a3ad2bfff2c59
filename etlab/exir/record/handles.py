"""Which nodes of the model every instruction of a program came from, as ETRecords say it."""

import operator
from collections.abc import Iterator, Sequence
from typing import Any

from torch import fx

from etlab.exir.edge import EdgeGraph
from etlab.exir.partition.delegate import LoweredModule, executorch_call_delegate

# By instruction: one handle, or those of all nodes of a delegate.
HandleMap = dict[int, int | list[int]]
# By instruction that calls a delegate: {"name": backend, "delegate_map": {its node: handles}}.
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
            "delegate_map": dict(delegates[node].debug_handle_map),
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
