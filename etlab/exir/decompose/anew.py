"""Calls of an edge graph are taken apart, or written anew, in place."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument

from etlab.exir.decompose.unserved import unserved_error
from etlab.exir.decompose.walk import Shared, Walk
from etlab.exir.edge import EdgeGraph
from etlab.exir.fakes import fake_mode_of
from etlab.exir.graph import REASONS, provenance, rename_outputs, replace

STATE = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def take_apart(edge: EdgeGraph, operators: Collection[OpOverload]) -> bool:
    """Decompose the calls of `operators` that stand in an edge graph, in place.

    Returns:
        Whether there were any.

    Raises:
        UnsupportedOperatorError: one of them has no decomposition.
    """
    nodes = [node for node in edge.graph.nodes if node.target in operators]
    return write_anew(edge, nodes, lambda walk, node: walk.lower(*_call(node)))


def _call(node: fx.Node) -> tuple[Any, Any, Any, Any]:
    return node.target, node.args, node.kwargs, node.meta["val"]


def write_anew(
    edge: EdgeGraph, nodes: Sequence[fx.Node], write: Callable[[Walk, fx.Node], Any]
) -> bool:
    """Put what `write` makes in place of calls, with the constants that it needs.

    Returns:
        Whether there are any calls.

    Raises:
        UnsupportedOperatorError: `write` needs an operator that nothing serves.
    """
    if not nodes:
        return False
    shared = Shared(fake_mode_of(edge.graph), {}, mutates=False)
    user_inputs = {spec.arg.name for spec in edge.inputs if spec.kind not in STATE}
    walk = Walk(shared, edge.graph)
    walk.first_user_input = next((n for n in edge.graph.nodes if n.name in user_inputs), None)
    for node in nodes:
        said = {REASONS: node.meta[REASONS]} if REASONS in node.meta else {}
        walk.provenance = provenance(node) | said
        with edge.graph.inserting_before(node):
            made = write(walk, node)
        if isinstance(made, tuple):
            for user in list(node.users):
                place: Any = user.args[1]
                replace(user, made[place])
            edge.graph.erase_node(node)
        else:
            replace(node, made)
    if shared.unsupported:
        raise unserved_error(edge.name, shared.unsupported)
    edge.inputs = specs_with_constants(walk, edge.inputs, edge.tensors)
    rename_outputs(edge)
    return True


def specs_with_constants(
    walk: Walk, specs: list[InputSpec], tensors: dict[str, torch.Tensor]
) -> list[InputSpec]:
    """The input specs with those of the constants that a walk made, in graph order."""
    if not walk.constants:
        return specs
    known = iter(specs)
    ordered: list[InputSpec] = []
    for node in walk.graph.nodes:
        if node.op != "placeholder":
            continue
        if node not in walk.constants:
            ordered.append(next(known))
            continue
        tensors[node.name] = walk.constants[node].detach().contiguous()
        ordered.append(InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), node.name))
    return ordered
