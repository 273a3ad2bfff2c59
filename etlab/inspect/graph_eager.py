"""The graph of a model before export: its modules and the functions that it calls itself."""

from collections.abc import Mapping
from dataclasses import replace

import torch

from etlab.inspect.graph import GraphNode
from etlab.inspect.graph_tree import RawGraph, Scope


def eager_graph(exported: RawGraph, model: torch.nn.Module) -> RawGraph:
    """One node for every call of a module without children, one for every other function.

    Values flow as in the exported graph, which was recorded from these calls.

    Args:
        exported: what was read of the exported program.
        model: the user's module.
    """
    leaves = {name for name, module in model.named_modules() if not any(module.children())}
    merged: dict[int, int] = {}
    nodes: list[GraphNode] = []
    scopes: list[Scope] = []
    calls: dict[str, int] = {}
    for node, scope in zip(exported.nodes, exported.scopes, strict=True):
        if node.kind in ("state", "pick", "delegate"):
            continue
        call = _module_call(node, scope, leaves)
        if call in calls:
            merged[node.id] = place = calls[call]
            nodes[place] = _joined(nodes[place], node)
            continue
        merged[node.id] = len(nodes)
        if call:
            calls[call] = len(nodes)
            node = replace(node, name=call, kind="module", operator=scope[-1][2])
        nodes.append(replace(node, id=len(nodes)))
        scopes.append(scope[:-1] if call else scope)
    return RawGraph(nodes, scopes, _edges(exported, merged), root_type=exported.root_type)


def _module_call(node: GraphNode, scope: Scope, leaves: set[str]) -> str:
    """The call of a module without children that a node belongs to, such as `head@1`."""
    if node.kind != "call" or not scope or scope[-1][1].partition("@")[0] not in leaves:
        return ""
    return scope[-1][1]


def _joined(first: GraphNode, last: GraphNode) -> GraphNode:
    """A module's call that also holds `last`, whose result it returns as far as is known."""
    return replace(
        first,
        origins=(*first.origins, *last.origins),
        dtype=last.dtype,
        shape=last.shape,
        nbytes=last.nbytes,
    )


def _edges(exported: RawGraph, merged: Mapping[int, int]) -> list[tuple[int, int]]:
    """The edges between merged nodes; picks hand on what they take."""
    behind: dict[int, int] = {}
    found: dict[tuple[int, int], None] = {}
    for source, target in exported.edges:
        origin = behind.get(source, source)
        if exported.nodes[target].kind == "pick":
            behind[target] = origin
        elif origin in merged and target in merged and merged[origin] < merged[target]:
            found[merged[origin], merged[target]] = None
    return sorted(found, key=lambda edge: (edge[1], edge[0]))
