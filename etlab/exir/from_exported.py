"""Edge graphs of exported programs: the way back from `to_exported_program`."""

from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

from etlab.exir.decompose import decompose
from etlab.exir.edge import EdgeGraph
from etlab.exir.exported import EdgeDialectVerifier
from etlab.exir.graph import copy_edge_graph


def from_exported_program(program: ExportedProgram) -> EdgeGraph:
    """The edge graph of a program, which is left as it is.

    A program of `torch.export.export` is decomposed first; one of an edge dialect is taken as it
    is, its delegates too.
    """
    if program.dialect != EdgeDialectVerifier.dialect:
        return decompose(program)
    signature = program.graph_signature
    stored: dict[str, Any] = {**program.constants, **program.state_dict}
    targets = [str(spec.target) for spec in signature.input_specs if spec.target is not None]
    edge = EdgeGraph(
        name="forward",
        graph=program.graph,
        inputs=list(signature.input_specs),
        outputs=list(signature.output_specs),
        tensors={target: stored[target] for target in targets},
        range_constraints=dict(program.range_constraints),
        in_spec=program.call_spec.in_spec,
        out_spec=program.call_spec.out_spec,
        submodules=_submodules(program.graph_module),
        example_inputs=program.example_inputs,
    )
    return copy_edge_graph(edge)


def _submodules(module: fx.GraphModule) -> dict[str, Any]:
    """Bodies of control flow as edge graphs, delegates as they are."""
    names = {str(node.target) for node in module.graph.nodes if node.op == "get_attr"}
    found: dict[str, Any] = {}
    for name in sorted(names):
        value = getattr(module, name)
        found[name] = _body(name, value) if isinstance(value, fx.GraphModule) else value
    return found


def _body(name: str, module: fx.GraphModule) -> EdgeGraph:
    graph = module.graph
    results: Any = graph.output_node().args[0]
    return EdgeGraph(
        name=name,
        graph=graph,
        inputs=[
            InputSpec(InputKind.USER_INPUT, TensorArgument(node.name), None)
            for node in graph.nodes
            if node.op == "placeholder"
        ],
        outputs=[
            OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(str(result)), None)
            for result in torch.utils._pytree.tree_leaves(results)
        ],
        tensors={},
        range_constraints={},
        in_spec=None,
        out_spec=None,
        submodules=_submodules(module),
    )
