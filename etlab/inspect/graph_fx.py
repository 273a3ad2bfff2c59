"""Reads a `GraphData` from fx graphs: exported programs and edge graphs, delegates opened."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import STATE_KINDS, is_getitem
from etlab.exir.provenance import (
    bytes_of,
    operator_of,
    plain_path,
    shape_of,
    source_place,
    values_of,
)
from etlab.inspect.graph import GraphNode
from etlab.inspect.graph_tree import Frame, RawGraph, Scope

_FURTHER_CALL = re.compile(r"@(\d+)$")


@dataclass(frozen=True, slots=True)
class _Region:
    """The nodes `start` to `end` (exclusive), which the node `call` runs."""

    start: int
    end: int
    call: int
    frame: Frame


@dataclass(slots=True)
class _Reader:
    """Nodes as they are read; the id of a node is its place in `nodes`."""

    origins: Mapping[str, str] | None
    nodes: list[GraphNode] = field(default_factory=list)
    scopes: list[Scope | None] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    handles: list[fx.Node] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    results: dict[fx.Node, list[list[int]]] = field(default_factory=dict)
    regions: list["_Region"] = field(default_factory=list)
    root_type: str = ""

    def unique(self, name: str, part: str) -> str:
        """`name`, or with its part in front when another node has it."""
        if name in self.names:
            name = f"{part}/{name}" if part else name
        again, wanted = 2, name
        while name in self.names:
            name, again = f"{wanted} ({again})", again + 1
        self.names.add(name)
        return name

    def add(self, node: fx.Node, kind: str, *, part: str, backend: str, name: str = "") -> int:
        """One more node; returns its id."""
        values = values_of(node) if kind != "output" else []
        sizes = [bytes_of(value) for value in values]
        file, line, _ = source_place(node)
        scope = _scope(node)
        place = len(self.nodes)
        is_call = kind in ("call", "delegate")
        self.nodes.append(
            GraphNode(
                id=place,
                name=name or self.unique(node.name, part),
                kind=kind,
                operator=operator_of(node) if is_call else "",
                module=_module_of(scope),
                source=f"{file.rpartition('/')[2]}:{line}" if file else "",
                dtype=_dtype_name(values[0].dtype) if values else "",
                shape=shape_of(values[0]) if values else (),
                nbytes=None if None in sizes else sum(size or 0 for size in sizes),
                backend=backend,
                part=part,
                origins=self._origins_of(node),
                file=file,
            )
        )
        self.scopes.append(scope)
        self.handles.append(node)
        if not self.root_type and is_call:
            self.root_type = _root_type(node)
        return place

    def _origins_of(self, node: fx.Node) -> tuple[str, ...]:
        names = (*node.meta.get("merged_from", ()), _source_name(node))
        if self.origins is None:
            return names
        return tuple(self.origins[name] for name in names if name in self.origins)


def _source_name(node: fx.Node) -> str:
    """Name of the node it was made from, as far back as the record goes; its own without one."""
    source: Any = node.meta.get("from_node")
    if isinstance(source, str):
        return source
    name = node.name
    while source:  # torch's record: the innermost source is the oldest
        name, source = source[0].name, source[0].from_node
    return name


@lru_cache(maxsize=64)
def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _scope(node: fx.Node) -> Scope | None:
    """The modules around a node, outermost first and without the model; None when unknown."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return None
    return _frames(tuple((key, entry[0], _class_name(entry[1])) for key, entry in stack.items()))


def _class_name(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind)).rpartition(".")[2]


@lru_cache(maxsize=65536)
def _frames(entries: tuple[tuple[str, str, str], ...]) -> Scope:
    frames: list[Frame] = []
    for key, path, type_ in entries:
        plain = plain_path(path)
        if not plain:
            continue
        again = _FURTHER_CALL.search(key)
        frames.append(("module", plain + (f"@{again[1]}" if again else ""), type_))
    return tuple(frames)


def _module_of(scope: Scope | None) -> str:
    return scope[-1][1].partition("@")[0] if scope else ""


def _root_type(node: fx.Node) -> str:
    for path, type_ in (node.meta.get("nn_module_stack") or {}).values():
        if not plain_path(str(path)):
            return _class_name(type_)
    return ""


def read_graph(
    holder: ExportedProgram | EdgeGraph, *, origins: Mapping[str, str] | None = None
) -> RawGraph:
    """The tables of an exported program or an edge graph, delegates and bodies opened.

    Args:
        holder: the graph and what its attributes name.
        origins: name of a node of the graph that this one was lowered from, to the name in the
            exported graph; None when this is the exported graph, or was made from it.
    """
    reader = _Reader(origins)
    if isinstance(holder, EdgeGraph):
        graph, parts = holder.graph, holder.submodules
        state = {spec.arg.name for spec in holder.inputs if spec.kind in STATE_KINDS}
    else:
        graph, parts = holder.graph, dict(holder.graph_module.named_children())
        specs = holder.graph_signature.input_specs
        state = {spec.arg.name for spec in specs if spec.kind in STATE_KINDS}
    _walk(reader, graph, parts, state, env={}, part="", backend="")
    scopes = completed(reader.nodes, reader.scopes, reader.edges)
    for region in reader.regions:
        _enclose(scopes, region, reader.nodes)
    return RawGraph(
        reader.nodes,
        scopes,
        reader.edges,
        root_type=reader.root_type,
        handles=reader.handles,
        calls={region.frame[1]: region.call for region in reader.regions},
    )


def origins_of(graph: fx.Graph) -> dict[str, str]:
    """Node name to the name in the exported graph, for a graph that torch made from it."""
    return {node.name: _source_name(node) for node in graph.nodes}


def _walk(
    reader: _Reader,
    graph: fx.Graph,
    parts: Mapping[str, Any],
    state: set[str],
    *,
    env: dict[fx.Node, int],
    part: str,
    backend: str,
) -> list[int]:
    """Read one graph; `env` holds the ids of nodes, given for inputs that others made.

    Returns:
        The ids of what the graph returns.
    """
    for node in graph.nodes:
        if node in env:
            continue
        if node.op == "output" and part:
            return [env[source] for source in node.all_input_nodes if source in env]
        if node.op == "get_attr":
            if str(node.target) not in parts:
                env[node] = reader.add(node, "state", part=part, backend=backend)
            continue
        kind = _kind(node, state)
        content = _content(node, parts) if kind == "call" else []
        if not content:
            env[node] = reader.add(node, kind, part=part, backend=backend)
            _connect(reader, env, node)
            continue
        env[node] = _add_with_content(reader, node, content, env, part)
    return []


def _kind(node: fx.Node, state: set[str]) -> str:
    if node.op == "placeholder":
        return "state" if node.name in state else "input"
    if node.op == "output":
        return "output"
    return "pick" if is_getitem(node) else "call"


def _connect(reader: _Reader, env: Mapping[fx.Node, int], node: fx.Node) -> None:
    place = env[node]
    sources = dict.fromkeys(env[source] for source in node.all_input_nodes if source in env)
    if is_getitem(node):
        index = node.args[1]
        for returned in reader.results.get(node.all_input_nodes[0], []):
            if isinstance(index, int) and index < len(returned):
                sources[returned[index]] = None
    reader.edges += [(source, place) for source in sorted(sources)]


def _content(node: fx.Node, parts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Name and content of the delegates or bodies that a node calls."""
    names = [str(source.target) for source in node.all_input_nodes if source.op == "get_attr"]
    found = [(name, parts[name]) for name in names if name in parts]
    return [(name, body) for name, body in found if _graph_of(body) is not None]


def _graph_of(body: Any) -> fx.Graph | None:
    graph = getattr(getattr(body, "original", body), "graph", None)
    return graph if isinstance(graph, fx.Graph) else None


def _add_with_content(
    reader: _Reader,
    node: fx.Node,
    content: list[tuple[str, Any]],
    env: Mapping[fx.Node, int],
    part: str,
) -> int:
    operands = _operands(node)
    backend = next((str(b.backend_id) for _, b in content if hasattr(b, "backend_id")), "")
    regions, results = [], []
    first = len(reader.nodes)
    for name, body in content:
        start = len(reader.nodes)
        label = reader.unique(name, part)
        results.append(_walk_body(reader, body, operands, env, part=label, backend=backend))
        regions.append((start, len(reader.nodes), label))
    place = reader.add(node, "delegate", part=part, backend=backend)
    inside = [one for one in reader.nodes[first:place] if one.kind == "call"]
    own = dict.fromkeys(origin for one in inside for origin in one.origins)
    reader.nodes[place] = replace(reader.nodes[place], origins=tuple(own))
    _connect(reader, {**env, node: place}, node)
    reader.results[node] = results[-1:] if "while" in operator_of(node) else results
    kind = "delegate" if backend else "body"
    reader.regions += [
        _Region(start, end, place, (kind, label, backend or operator_of(node)))
        for start, end, label in regions
    ]
    return place


def _operands(node: fx.Node) -> list[Any]:
    """What a node hands to its delegate or bodies, flat."""
    arguments = list(node.args)
    if operator_of(node) == "cond":
        arguments = arguments[1:]  # the condition stays outside
    leaves = pytree.tree_leaves(arguments)
    return [one for one in leaves if not (isinstance(one, fx.Node) and one.op == "get_attr")]


def _walk_body(
    reader: _Reader,
    body: Any,
    operands: list[Any],
    env: Mapping[fx.Node, int],
    *,
    part: str,
    backend: str,
) -> list[int]:
    """Read what a call runs; its inputs are the nodes that made the operands."""
    holder = getattr(body, "original", body)
    graph = _graph_of(body)
    assert graph is not None
    state = set()
    if isinstance(holder, EdgeGraph):
        parts: Mapping[str, Any] = holder.submodules
        state = {spec.arg.name for spec in holder.inputs if spec.kind in STATE_KINDS}
    else:
        parts = dict(holder.named_children())
    inputs = [one for one in graph.nodes if one.op == "placeholder" and one.name not in state]
    inner: dict[fx.Node, int] = {}
    if len(inputs) == len(operands):
        pairs = zip(inputs, operands, strict=True)
        inner = {own: env[outer] for own, outer in pairs if outer in env}
    return _walk(reader, graph, parts, state, env=inner, part=part, backend=backend)


def completed(
    nodes: Sequence[GraphNode], scopes: Sequence[Scope | None], edges: Sequence[tuple[int, int]]
) -> list[Scope]:
    """Every node's scope: where unknown, that of who makes its input, or else of its first user.

    What is made of weights only, such as their dequantized form, stands where it is used.
    """
    found = list(scopes)
    is_fed = [node.kind in ("input", "output") for node in nodes]
    has_operands = [False] * len(nodes)
    for source, target in edges:
        is_fed[target] = is_fed[target] or is_fed[source]
        has_operands[target] = True
    for node in nodes:
        if node.kind in ("call", "pick") and has_operands[node.id] and not is_fed[node.id]:
            found[node.id] = None
    for source, target in edges:
        if found[target] is None and nodes[target].kind != "output":
            found[target] = found[source]
    for source, target in reversed(edges):
        if found[source] is None and nodes[source].kind != "input":
            found[source] = found[target]
    return [scope or () for scope in found]


def _enclose(scopes: list[Scope], region: _Region, nodes: Sequence[GraphNode]) -> None:
    """Put a frame around the nodes of a region, inside the modules that all of its calls share."""
    inside = range(region.start, region.end)
    own = {scopes[place] for place in inside if nodes[place].kind not in ("state", "pick")}
    shared = _common_start(own)
    depth = len(shared)
    for place in inside:
        scopes[place] = (*shared, region.frame, *scopes[place][depth:])
    scopes[region.call] = shared


def _common_start(scopes: Iterable[Scope]) -> Scope:
    ordered = sorted(scopes)
    if not ordered:
        return ()
    first, last = ordered[0], ordered[-1]
    depth = 0
    while depth < min(len(first), len(last)) and first[depth] == last[depth]:
        depth += 1
    return first[:depth]
