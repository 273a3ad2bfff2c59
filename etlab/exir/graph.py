"""Small tools for editing and running edge graphs: what passes are written with."""

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export.graph_signature import (
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

from etlab.errors import InvalidArgumentError
from etlab.exir import assertions
from etlab.exir.edge import EdgeGraph
from etlab.exir.fakes import contiguous, fake, fake_mode_of

# Of a constant's placeholder: the file, by its name without a suffix, that holds it if a delegate
# takes it along. ExecuTorch's name, which stands in `meta["custom"]` of exported programs.
CONSTANT_TAG = "delegate_constant_tag"

# Why a node was left to the portable operators: {backend or partitioner: sentence}.
REASONS = "delegation_reasons"

# What a new node takes over from the node it replaces.
PROVENANCE = (
    "stack_trace",
    "nn_module_stack",
    "torch_fn",
    "from_node",
    "merged_from",
    "debug_handle",
)
STATE_KINDS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def provenance(node: fx.Node) -> dict[str, Any]:
    """The meta entries that say where `node` comes from."""
    return {key: node.meta[key] for key in PROVENANCE if key in node.meta}


def map_values(function: Any, value: Any) -> Any:
    """Apply `function` to everything inside nested lists, tuples and dicts."""
    if isinstance(value, list | tuple):
        mapped = [map_values(function, item) for item in value]
        return mapped if isinstance(value, list) else tuple(mapped)
    if isinstance(value, dict):
        return {key: map_values(function, item) for key, item in value.items()}
    return function(value)


def infer_val(graph: fx.Graph, target: Any, args: Any, kwargs: Any | None = None) -> Any:
    """The meta value of a call, by running it once on fakes; tensors come out contiguous."""
    mode = fake_mode_of(graph)

    def value(leaf: Any) -> Any:
        return leaf.meta["val"] if isinstance(leaf, fx.Node) else leaf

    with torch.no_grad(), mode:
        result = target(*map_values(value, tuple(args)), **map_values(value, kwargs or {}))
    return contiguous(mode, result)


def call_before(
    node: fx.Node,
    target: OpOverload,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    val: Any = None,
) -> fx.Node:
    """A new call in front of `node`, with its provenance; `val` is inferred when not given."""
    with node.graph.inserting_before(node):
        new = node.graph.call_function(target, tuple(args), kwargs or {})
    new.meta = provenance(node)
    new.meta["val"] = val if val is not None else infer_val(node.graph, target, args, kwargs)
    return new


def fake_like(node: fx.Node, shape: Sequence[Any], dtype: torch.dtype | None = None) -> Any:
    """A meta value of another size in the fake mode of `node`."""
    val = node.meta["val"]
    while isinstance(val, tuple | list):
        val = val[0]
    return fake(val.fake_mode, shape, dtype or val.dtype)


def replace(node: fx.Node, replacement: fx.Node) -> None:
    """Let everybody use `replacement` instead of `node`, and erase `node`."""
    node.replace_all_uses_with(replacement)
    node.graph.erase_node(node)


def state_targets(edge: EdgeGraph) -> dict[str, str]:
    """Placeholder name to the name of its tensor, for parameters, buffers and constants."""
    return {spec.arg.name: str(spec.target) for spec in edge.inputs if spec.kind in STATE_KINDS}


def mutated_targets(edge: EdgeGraph) -> set[str]:
    """Names of the buffers that the graph writes."""
    return {str(spec.target) for spec in edge.outputs if spec.kind is OutputKind.BUFFER_MUTATION}


def constant_placeholders(edge: EdgeGraph) -> dict[fx.Node, torch.Tensor]:
    """Placeholders whose tensor never changes, with it."""
    mutated = mutated_targets(edge) | edge.foreign_state
    targets = state_targets(edge)
    return {
        node: edge.tensors[targets[node.name]]
        for node in edge.graph.nodes
        if node.op == "placeholder" and node.name in targets and targets[node.name] not in mutated
    }


def remove_dead_code(edge: EdgeGraph) -> bool:
    """Erase calls that nobody uses; the graph is functional, so all but assertions may go."""
    changed = False
    for node in reversed(edge.graph.nodes):
        is_kept = node.op in ("placeholder", "output") or node.target in assertions.KEPT
        if not is_kept and not node.users:
            edge.graph.erase_node(node)
            changed = True
    return changed


def remove_unused_state(edge: EdgeGraph) -> bool:
    """Erase placeholders of parameters, buffers and constants that nobody uses, and the tensors."""
    mutated = mutated_targets(edge)
    kept = []
    changed = False
    placeholders = [node for node in edge.graph.nodes if node.op == "placeholder"]
    for node, spec in zip(placeholders, edge.inputs, strict=True):
        if spec.kind in STATE_KINDS and not node.users and spec.target not in mutated:
            edge.graph.erase_node(node)
            changed = True
        else:
            kept.append(spec)
    edge.inputs = kept
    if changed:
        used = {spec.target for spec in kept} | mutated
        edge.tensors = {name: t for name, t in edge.tensors.items() if name in used}
    return changed


def copy_edge_graph(edge: EdgeGraph) -> EdgeGraph:
    """A copy that may be edited: new nodes, the same tensors and meta values (15 us a node)."""
    graph = fx.Graph()
    env: dict[fx.Node, fx.Node] = {}
    for node in edge.graph.nodes:
        new = graph.node_copy(node, env.__getitem__)
        env[node] = new
    return EdgeGraph(
        name=edge.name,
        graph=graph,
        inputs=list(edge.inputs),
        outputs=list(edge.outputs),
        tensors=dict(edge.tensors),
        range_constraints=dict(edge.range_constraints),
        in_spec=edge.in_spec,
        out_spec=edge.out_spec,
        submodules={
            name: copy_edge_graph(body) if isinstance(body, EdgeGraph) else body
            for name, body in edge.submodules.items()
        },
        example_inputs=edge.example_inputs,
        history=list(edge.history),
        foreign_state=edge.foreign_state,
        output_orders=edge.output_orders,
        constant_methods=dict(edge.constant_methods),
    )


class EdgeInterpreter(fx.Interpreter):
    """Interprets a graph without a GraphModule; bodies and delegates come from `submodules`."""

    def __init__(self, edge: EdgeGraph) -> None:
        super().__init__(torch.nn.Module(), graph=edge.graph)
        self.edge = edge
        self.extra_traceback = False

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A body as a function; a delegated subgraph as it is."""
        body = self.edge.submodules[target]
        if not isinstance(body, EdgeGraph):
            return body

        def call(*inputs: Any) -> Any:
            return EdgeInterpreter(body).run(*inputs)

        return call

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a call, control flow included."""
        if target is torch.ops.higher_order.cond:
            return args[1](*args[3]) if bool(args[0]) else args[2](*args[3])
        if target is torch.ops.higher_order.map_impl:
            return _run_map(*args)
        if target is torch.ops.higher_order.scan:
            return _run_scan(*args)
        if target is torch.ops.higher_order.while_loop:
            return _run_while(*args)
        return super().call_function(target, args, kwargs)


def _run_map(body: Any, mapped: Any, operands: Any) -> Any:
    rows = [body(*row, *operands) for row in zip(*mapped, strict=True)]
    return tuple(torch.stack(column) for column in zip(*rows, strict=True))


def _run_scan(body: Any, init: Any, mapped: Any, operands: Any) -> Any:
    carry, rows = list(init), []
    for row in zip(*mapped, strict=True):
        result = body(*carry, *row, *operands)
        carry = list(result[: len(carry)])
        rows.append(result[len(carry) :])
    return (*carry, *(torch.stack(column) for column in zip(*rows, strict=True)))


def _run_while(condition: Any, body: Any, carried: Any, operands: Any) -> Any:
    values = tuple(carried)
    while bool(condition(*values, *operands)[0]):
        values = tuple(body(*values, *operands))
    return values


def run_edge_graph(edge: EdgeGraph, inputs: Iterable[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Execute an edge graph with torch's own operators.

    Args:
        edge: the graph.
        inputs: the user inputs, flat, in placeholder order.

    Returns:
        The user outputs, and what the graph writes by the name of the buffer or input.

    Raises:
        InvalidArgumentError: too few or too many inputs.
    """
    remaining = list(inputs)
    expected = sum(spec.kind is InputKind.USER_INPUT for spec in edge.inputs)
    if len(remaining) != expected:
        raise InvalidArgumentError(
            f"method '{edge.name}' takes {expected} inputs, {len(remaining)} were given"
        )
    values = [
        edge.tensors[str(spec.target)] if spec.kind in STATE_KINDS else remaining.pop(0)
        for spec in edge.inputs
    ]
    with torch.no_grad():
        results = EdgeInterpreter(edge).run(*values)
    users: list[Any] = []
    writes: dict[str, Any] = {}
    for spec, value in zip(edge.outputs, results, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT:
            users.append(value)
        else:
            writes[str(spec.target)] = value
    return users, writes


def is_getitem(node: fx.Node) -> bool:
    """Whether `node` picks one result of another node."""
    return node.target is operator.getitem


def constant_tag(node: fx.Node) -> str | None:
    """The `CONSTANT_TAG` of a constant, or of the first one that a node of constants is made of."""
    pending = [node]
    while pending:
        current = pending.pop()
        if CONSTANT_TAG in current.meta:
            return str(current.meta[CONSTANT_TAG])
        pending += reversed(current.all_input_nodes)
    return None


class NewConstants:
    """Adds constant tensors to a graph; `finish` brings the signature up to date, once."""

    def __init__(self, edge: EdgeGraph) -> None:
        self._edge = edge
        self._added: dict[fx.Node, InputSpec] = {}
        user_inputs = {s.arg.name for s in edge.inputs if s.kind not in STATE_KINDS}
        self._before = next(
            (n for n in edge.graph.nodes if n.op != "placeholder" or n.name in user_inputs), None
        )

    def add(self, name: str, tensor: torch.Tensor, made_of: fx.Node | None = None) -> fx.Node:
        """A placeholder for `tensor`, stored under `name` or a name made from it.

        Args:
            name: of the node, if it is free.
            tensor: the values.
            made_of: where the values come from; the new constant is stored where its are.
        """
        edge = self._edge
        with edge.graph.inserting_before(self._before):
            node = edge.graph.placeholder(name)
        node.target = node.name  # the parameter's name in generated code: unique, as node names are
        tensor = tensor.detach().contiguous()
        mode = fake_mode_of(edge.graph)
        node.meta = {
            "val": fake(mode, tensor.shape, tensor.dtype),
            "from_node": node.name,
            "debug_handle": 0,
        }
        tag = None if made_of is None else constant_tag(made_of)
        if tag is not None:
            node.meta[CONSTANT_TAG] = tag
        target = node.name
        while target in edge.tensors:
            target += "_"
        edge.tensors[target] = tensor
        self._added[node] = InputSpec(
            InputKind.CONSTANT_TENSOR, TensorArgument(node.name), target, None
        )
        return node

    def finish(self) -> None:
        """Put the new placeholders into `edge.inputs`."""
        if not self._added:
            return
        known = {spec.arg.name: spec for spec in self._edge.inputs}
        self._edge.inputs = [
            self._added.get(node) or known[node.name]
            for node in self._edge.graph.nodes
            if node.op == "placeholder"
        ]
        self._added = {}


def renamed(argument: Any, name: str) -> Any:
    """An argument of a signature under another name."""
    return type(argument)(name)


def rename_outputs(edge: EdgeGraph) -> None:
    """Bring the names in the output specs up to date with the output node."""
    nodes: Any = edge.graph.output_node().args[0]
    for index, (node, spec) in enumerate(zip(nodes, edge.outputs, strict=True)):
        if isinstance(node, fx.Node) and getattr(spec.arg, "name", node.name) != node.name:
            edge.outputs[index] = OutputSpec(spec.kind, renamed(spec.arg, node.name), spec.target)
