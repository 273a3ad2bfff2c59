"""Hand tagged nodes to their backends: each tag becomes a delegate call."""

import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch import fx
from torch.export.graph_signature import (
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)

from etlab.errors import InvalidArgumentError, LoweringError
from etlab.exir.edge import EdgeGraph
from etlab.exir.exported import EdgeProgramView
from etlab.exir.graph import (
    CONSTANT_TAG,
    REASONS,
    is_getitem,
    mutated_targets,
    provenance,
    remove_dead_code,
    remove_unused_state,
    rename_outputs,
    state_targets,
)
from etlab.exir.partition.backend import PreprocessResult
from etlab.exir.partition.delegate import LoweredModule, executorch_call_delegate
from etlab.exir.partition.estimate import estimate_key, write_estimate
from etlab.exir.partition.host_only import HOST_TAG
from etlab.exir.partition.partitioner import DelegationSpec, Partitioner, PartitionResult
from etlab.exir.partition.registry import backend_class

# Tags of a constant that several delegates take along, each a copy.
SHARED_TAGS = "delegation_tags"


def partition_and_lower(edge: EdgeGraph, partitioner: Partitioner) -> EdgeGraph:
    """Let `partitioner` tag nodes of `edge`, and turn every tag into a delegate call, in place.

    Raises:
        LoweringError: a tag cannot be one call, because its nodes wait for nodes outside that wait
            for the tag's own results.
        BackendMissingError: a tag names a backend that does not exist.
    """
    view: Any = EdgeProgramView(edge)
    result = partitioner.partition(view)
    if not isinstance(result, PartitionResult):
        raise InvalidArgumentError(
            f"{type(partitioner).__name__}.partition() must return a PartitionResult, it returned "
            f"{type(result).__name__}"
        )
    _take_over_tags(edge, result)
    _keep_reasons(edge, partitioner, result.reasons)
    by_tag = _tagged_calls(edge)
    unknown = sorted(set(by_tag) - set(result.partition_tags))
    if unknown:
        raise InvalidArgumentError(
            f"{type(partitioner).__name__} tagged nodes with {', '.join(unknown)}, but its "
            "partition_tags do not say which backend that is"
        )
    calls = [
        (_cut_out(edge, tag, nodes), result.partition_tags[tag]) for tag, nodes in by_tag.items()
    ]
    sort_topologically(edge)
    remove_dead_code(edge)
    for cut, spec in calls:
        if cut is not None:
            name, subgraph = cut
            edge.submodules[name] = _preprocess(subgraph, spec)
    remove_unused_state(edge)
    rename_outputs(edge)
    return edge


def lower_whole(edge: EdgeGraph, spec: DelegationSpec) -> LoweredModule:
    """Hand a whole graph to a backend.

    Raises:
        LoweringError: it writes buffers or inputs, which a delegate cannot.
    """
    written = [str(output.target) for output in edge.outputs if output.target is not None]
    if written:
        raise LoweringError(
            f"method '{edge.name}' writes {', '.join(written)}; a delegate of the whole program"
            " cannot: give the backend what its partitioner tags"
        )
    return _preprocess(edge, spec)


def calling_graph(lowered: LoweredModule) -> EdgeGraph:
    """A graph of the subgraph's interface that does nothing but call the delegate."""
    own = lowered.original
    graph, name = fx.Graph(), "lowered_module_0"
    inputs = [spec for spec in own.inputs if spec.kind is InputKind.USER_INPUT]
    named = {node.name: node for node in own.graph.nodes}
    arguments = []
    for spec in inputs:
        node = graph.placeholder(spec.arg.name)
        node.meta = dict(named[spec.arg.name].meta)
        arguments.append(node)
    results: Any = own.graph.output_node().args[0]
    call = graph.call_function(
        executorch_call_delegate, (graph.create_node("get_attr", name), *arguments)
    )
    call.meta["val"] = tuple(result.meta["val"] for result in results)
    outputs = [graph.call_function(operator.getitem, (call, i)) for i in range(len(results))]
    for node, val in zip(outputs, call.meta["val"], strict=True):
        node.meta["val"] = val
    graph.output(tuple(outputs))
    edge = EdgeGraph(
        own.name, graph, inputs, list(own.outputs), {}, dict(own.range_constraints),
        own.in_spec, own.out_spec, {name: lowered},
    )  # fmt: skip
    rename_outputs(edge)
    return edge


def _take_over_tags(edge: EdgeGraph, result: PartitionResult) -> None:
    """Copy the tags from the returned program, if the partitioner tagged a copy."""
    tagged = result.tagged_exported_program.graph
    if tagged is edge.graph:
        return
    own = {node.name: node for node in edge.graph.nodes}
    for node in tagged.nodes:
        if "delegation_tag" in node.meta and node.name in own:
            own[node.name].meta["delegation_tag"] = node.meta["delegation_tag"]


def _keep_reasons(edge: EdgeGraph, partitioner: Partitioner, reasons: Mapping[str, str]) -> None:
    if not reasons:
        return
    name = type(partitioner).__name__
    for node in edge.graph.nodes:
        if node.name in reasons:
            node.meta[REASONS] = {**node.meta.get(REASONS, {}), name: reasons[node.name]}


def _tagged_calls(edge: EdgeGraph) -> dict[str, list[fx.Node]]:
    """The calls of every tag, in order; a getitem belongs where its source does."""
    by_tag: dict[str, list[fx.Node]] = {}
    tag_of: dict[fx.Node, str] = {}
    for node in edge.graph.nodes:
        if node.op != "call_function":
            continue
        tag = node.meta.pop("delegation_tag", None)
        if is_getitem(node):
            tag = tag_of.get(node.all_input_nodes[0])
        if tag is not None:
            tag_of[node] = tag
            by_tag.setdefault(tag, []).append(node)
    return by_tag


def _preprocess(subgraph: EdgeGraph, spec: DelegationSpec) -> LoweredModule:
    view: Any = EdgeProgramView(subgraph)
    processed = backend_class(spec.backend_id).preprocess(view, list(spec.compile_specs))
    if not isinstance(processed, PreprocessResult):
        raise InvalidArgumentError(
            f"{spec.backend_id}.preprocess() must return a PreprocessResult, it returned "
            f"{type(processed).__name__}"
        )
    data = bytes(processed.processed_bytes)
    named, tags = dict(processed.data_store_output or {}), dict(processed.external_tags)
    if processed.estimate is not None:
        named[estimate_key(data)] = write_estimate(processed.estimate)
        tags[estimate_key(data)] = HOST_TAG
    return LoweredModule(
        backend_id=spec.backend_id,
        processed_bytes=data,
        compile_specs=list(spec.compile_specs),
        original=subgraph,
        named_data=named,
        debug_handle_map=dict(processed.debug_handle_map or {}),
        meta=processed._delegate_info_meta,
        takes_any_layout=processed.takes_any_layout,
        value_origins=dict(processed.value_origins),
        partial_nodes=processed.partial_nodes,
        external_tags=tags,
        estimate=processed.estimate,
    )


def _cut_out(edge: EdgeGraph, tag: str, nodes: list[fx.Node]) -> tuple[str, EdgeGraph] | None:
    """Replace the nodes of a tag by a call; None when nobody uses their results."""
    members = set(nodes)
    outputs = [
        node
        for node in nodes
        if any(user not in members for user in node.users)
        and not isinstance(node.meta["val"], tuple)
    ]
    if not outputs:
        return None
    number = sum(name.startswith("lowered_module_") for name in edge.submodules)
    name = f"lowered_module_{number}"
    subgraph, inputs = _extract(edge, name, tag, nodes, outputs)
    edge.submodules[name] = subgraph  # until its backend has seen it
    _insert_call(edge, name, nodes, inputs, outputs)
    return name, subgraph


def _extract(
    edge: EdgeGraph, name: str, tag: str, nodes: list[fx.Node], outputs: list[fx.Node]
) -> tuple[EdgeGraph, list[fx.Node]]:
    """Copy the nodes of a tag to a graph of their own; also what it takes from outside."""
    members = set(nodes)
    constants, inputs, bodies = _sources(edge, tag, nodes, members)
    graph = fx.Graph()
    env: dict[fx.Node, fx.Node] = {}
    specs: list[InputSpec] = []
    tensors = {}
    kinds = {spec.arg.name: spec for spec in edge.inputs}
    for node in constants:
        env[node] = graph.placeholder(node.name)
        spec = kinds[node.name]
        specs.append(
            InputSpec(spec.kind, TensorArgument(env[node].name), spec.target, spec.persistent)
        )
        tensors[str(spec.target)] = edge.tensors[str(spec.target)]
    for node in inputs:
        env[node] = graph.placeholder(node.name)
        specs.append(InputSpec(InputKind.USER_INPUT, _argument(env[node], node), None))
    for node in (*constants, *inputs):
        env[node].meta = {**provenance(node), "val": node.meta["val"]}
        if CONSTANT_TAG in node.meta:
            env[node].meta[CONSTANT_TAG] = node.meta[CONSTANT_TAG]
    for node in (*bodies, *nodes):
        env[node] = graph.node_copy(node, env.__getitem__)
    results = tuple(env[node] for node in outputs)
    graph.output(results).meta["val"] = tuple(node.meta["val"] for node in outputs)
    subgraph = EdgeGraph(
        name=name,
        graph=graph,
        inputs=specs,
        outputs=[OutputSpec(OutputKind.USER_OUTPUT, _argument(n, n), None) for n in results],
        tensors=tensors,
        range_constraints=dict(edge.range_constraints),
        in_spec=None,
        out_spec=None,
        submodules={str(body.target): edge.submodules[str(body.target)] for body in bodies},
    )
    return subgraph, inputs


def _sources(
    edge: EdgeGraph, tag: str, nodes: list[fx.Node], members: set[fx.Node]
) -> tuple[list[fx.Node], list[fx.Node], list[fx.Node]]:
    """What the nodes take from outside: constants that go along, inputs, bodies of control flow."""
    states, mutated = state_targets(edge), mutated_targets(edge) | edge.foreign_state
    constants: dict[fx.Node, None] = {}
    inputs: dict[fx.Node, None] = {}
    bodies: dict[fx.Node, None] = {}
    for node in nodes:
        for source in node.all_input_nodes:
            if source in members:
                continue
            tags = (source.meta.get("delegation_tag"), *source.meta.get(SHARED_TAGS, ()))
            target = states.get(source.name) if source.op == "placeholder" else None
            if source.op == "get_attr":
                bodies[source] = None
            elif target is not None and target not in mutated and tag in tags:
                constants[source] = None
            else:
                inputs[source] = None
    return list(constants), list(inputs), list(bodies)


def _argument(node: fx.Node, original: fx.Node) -> Any:
    if isinstance(original.meta["val"], torch.Tensor):
        return TensorArgument(node.name)
    return SymIntArgument(node.name)


def _insert_call(
    edge: EdgeGraph,
    name: str,
    nodes: list[fx.Node],
    inputs: list[fx.Node],
    outputs: list[fx.Node],
) -> None:
    """Put the call where the last node of the tag stands and let everybody outside use it."""
    members = set(nodes)
    with edge.graph.inserting_after(nodes[-1]):
        # `get_attr` warns where a partitioner looked at the GraphModule before.
        attribute = edge.graph.create_node("get_attr", name)
    attribute.meta = {**provenance(nodes[0])}
    with edge.graph.inserting_after(attribute):
        call = edge.graph.call_function(executorch_call_delegate, (attribute, *inputs))
    call.meta = {**provenance(nodes[0]), "val": tuple(node.meta["val"] for node in outputs)}
    previous = call
    for index, node in enumerate(outputs):
        with edge.graph.inserting_after(previous):
            item = edge.graph.call_function(operator.getitem, (call, index))
        item.meta = {**provenance(node), "val": node.meta["val"]}
        node.replace_all_uses_with(item, delete_user_cb=lambda user: user not in members)
        previous = item


def sort_topologically(edge: EdgeGraph) -> None:
    """Bring the nodes into an order in which everything is made before it is used.

    Raises:
        LoweringError: there is none: something waits for itself.
    """
    nodes = list(edge.graph.nodes)
    done: set[fx.Node] = set()
    on_path: set[fx.Node] = set()
    order: list[fx.Node] = []
    for root in nodes:
        stack = [(root, iter(root.all_input_nodes))] if root not in done else []
        on_path.update(node for node, _ in stack)
        while stack:
            node, sources = stack[-1]
            source = next(sources, None)
            if source is None:
                stack.pop()
                on_path.discard(node)
                done.add(node)
                order.append(node)
            elif source in on_path:
                raise LoweringError(
                    f"method '{edge.name}': '{source.name}' waits for itself through "
                    f"'{node.name}': a partitioner tagged nodes that cannot be one call, because "
                    "others between them are not tagged. Use "
                    "etlab.exir.partition.grouping.group_supported"
                )
            elif source not in done:
                on_path.add(source)
                stack.append((source, iter(source.all_input_nodes)))
    if order == nodes:
        return
    output = edge.graph.output_node()
    for node in order:
        if node is not output:
            output.prepend(node)
