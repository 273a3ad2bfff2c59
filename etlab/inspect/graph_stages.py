"""The graph of one stage of a run."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch.export import ExportedProgram

from etlab.inspect.graph import GraphData
from etlab.inspect.graph_eager import eager_graph
from etlab.inspect.graph_fx import origins_of, read_graph
from etlab.inspect.graph_program import program_graph
from etlab.inspect.graph_tree import RawGraph, assemble


def stage_graph(
    stages: Mapping[str, Any], stage: str, method: str = "forward", *, name: str
) -> GraphData:
    """The graph of one stage; `origins` of all stages name nodes of stage "aten".

    What a quantizer added came from no such node: it is `quantized/<its name there>` in all stages.

    Args:
        stages: the forms of a model by stage name.
        stage: which one.
        method: which one, of the stages that have several.
        name: of the model.

    Raises:
        NotFoundError: no such stage or method.
    """
    held = stages[stage]
    if stage == "eager":
        raw = eager_graph(read_graph(stages["aten"]), held)
    elif isinstance(held, ExportedProgram):
        raw = read_graph(held, origins={name: name for name in _exported_names(stages)})
        added = _added(stages) if stage == "quantized" else {}
        nodes = [
            node
            if node.origins or node.name not in added
            else replace(node, origins=(added[node.name],))
            for node in raw.nodes
        ]
        raw = replace(raw, nodes=nodes)
    elif stage == "program":
        raw = _program(stages, method)
    else:
        raw = read_graph(held.edge_graph(method), origins=exported_origins(stages))
    return assemble(raw, title=f"{name}, {stage}", stage=stage)


def _exported_names(stages: Mapping[str, Any]) -> set[str]:
    return {node.name for node in stages["aten"].graph.nodes}


def exported_origins(stages: Mapping[str, Any]) -> dict[str, str]:
    """Node of the graph that was lowered, to the node of stage "aten" that it came from."""
    source: ExportedProgram = stages["quantized"] if "quantized" in stages else stages["aten"]
    known = _exported_names(stages)
    own = {name: origin for name, origin in origins_of(source.graph).items() if origin in known}
    return {**_added(stages), **own}


def _added(stages: Mapping[str, Any]) -> dict[str, str]:
    """What the quantizer added: name in stage "quantized" to its name as an origin."""
    if "quantized" not in stages:
        return {}
    graph, known = stages["quantized"].graph, _exported_names(stages)
    calls = {node.name for node in graph.nodes if node.op == "call_function"}
    return {
        name: f"quantized/{name}"
        for name, origin in origins_of(graph).items()
        if name in calls and origin not in known
    }


def _program(stages: Mapping[str, Any], method: str) -> RawGraph:
    program = stages["program"]
    known = read_graph(program.edge_graph(method), origins=exported_origins(stages))
    plans = {plan.name: plan for plan in program.executorch_program.execution_plan or ()}
    return program_graph(plans[method], names=program.instruction_nodes(method), known=known)
