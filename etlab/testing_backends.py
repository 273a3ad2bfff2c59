"""Backends against eager: lower with a partitioner, run the program, compare."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from etlab.exir import to_edge_transform_and_lower
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import is_getitem
from etlab.exir.partition import LoweredModule, executorch_call_delegate
from etlab.testing import assert_same
from etlab.testing_graphs import export_module

# Runs a program once for each list of flat inputs; returns the flat outputs of each.
Runner = Callable[[bytes, Sequence[Sequence[Any]]], list[list[Any]]]


def check_backend(
    partitioner: Any,
    module: torch.nn.Module,
    *inputs: Any,
    runners: Sequence[Runner],
    more_inputs: Sequence[Sequence[Any]] = (),
    is_whole: bool = True,
    **export_options: Any,
) -> EdgeGraph:
    """Assert that a model computes what eager does when a partitioner's backend takes part.

    Args:
        partitioner: what chooses the backend's nodes.
        module: an eager module.
        *inputs: example inputs of the export and of the first run.
        runners: the runtimes that must agree with eager.
        more_inputs: inputs of further runs.
        is_whole: assert that the backend takes every operator.
        **export_options: for `torch.export.export`.

    Returns:
        The graph with its delegates.
    """
    calls = [inputs, *more_inputs]
    with torch.no_grad():
        expected = [pytree.tree_leaves(module.eval()(*copy.deepcopy(call))) for call in calls]
    exported = export_module(module, inputs, **export_options)
    manager = to_edge_transform_and_lower(exported, partitioner=[partitioner])
    edge = manager.edge_graph()
    assert lowered_modules(edge), "nothing was delegated"
    if is_whole:
        assert not nodes_left(edge), f"left: {nodes_left(edge)}"
    program = bytes(manager.to_executorch().buffer)
    flat = [[x for x in pytree.tree_leaves(call) if x is not None] for call in calls]
    for run in runners:
        for turn, (outputs, wanted) in enumerate(zip(run(program, flat), expected, strict=True)):
            for index, (got, want) in enumerate(zip(outputs, wanted, strict=True)):
                assert_same(got, want, f"call {turn}, output {index}")
    return edge


def lowered_modules(edge: EdgeGraph) -> list[LoweredModule]:
    """The delegated subgraphs of a graph, in order."""
    return [module for module in edge.submodules.values() if isinstance(module, LoweredModule)]


def nodes_left(edge: EdgeGraph) -> list[str]:
    """Names of the operators that no backend took."""
    return [
        str(node.target)
        for node in edge.graph.nodes
        if node.op == "call_function"
        and node.target is not executorch_call_delegate
        and not is_getitem(node)
    ]
