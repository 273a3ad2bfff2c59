"""Programs as ETRecords store them: JSON of the graph and `torch.save` of its tensors.

ETRecords have the JSON of an older `torch.export` (schema 5.4), in which a node's debug handle
stands with its metadata and operators of the edge dialect have names of their own. torch writes and
reads its newer one; the two are translated here.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch.export import ExportedProgram

from etlab.errors import InvalidProgramError, NotSupportedError
from etlab.exir.edge import EdgeGraph
from etlab.exir.exported import EdgeDialectVerifier, to_exported_program

if TYPE_CHECKING:
    from torch._export.serde.serialize import SerializedArtifact

_VERSION = {"major": 5, "minor": 4}
_ATEN = "torch.ops."
_HIGHER_ORDER = "torch.ops.higher_order."  # no operators of a dialect
_EDGE = "executorch.exir.dialects.edge.ops."
_DIALECT = "EDGE"  # as ExecuTorch names it
# What the older schema does not have.
_NEWER = {
    "kind",
    "is_hop_single_tensor_return",
    "sym_float_values",
    "forward_arg_names",
    "treespec_namedtuple_fields",
    "guards_code",
    "torch_version",
}
# Operators of ExecuTorch with an order of dimensions, and what computes the same values.
_WITHOUT_ORDER = {
    "torch.ops.dim_order_ops._to_dim_order_copy.default": "torch.ops.aten._to_copy.default",
    "torch.ops.dim_order_ops._clone_dim_order.default": "torch.ops.aten.clone.default",
    "torch.ops.dim_order_ops._empty_dim_order.default": "torch.ops.aten.empty.memory_format",
}


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """A program as the four files of an ETRecord."""

    graph: bytes
    state_dict: bytes
    constants: bytes
    example_inputs: bytes

    @property
    def nodes(self) -> "list[RecordNode]":
        """The nodes, without making a program of them.

        Raises:
            InvalidProgramError: the JSON is damaged.
        """
        try:
            graphs = _graphs(json.loads(self.graph)["graph_module"]["graph"])
            return [_node(node) for graph in graphs for node in graph["nodes"]]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidProgramError(f"the ETRecord's graph is damaged: {error}") from error


@dataclass(frozen=True, slots=True)
class RecordNode:
    """A node of a recorded graph.

    Attributes:
        name: in its graph.
        operator: such as `aten.add.Tensor`.
        debug_handle: 0 when it has none.
        stack_trace: where it stands in the model's source; empty when unknown.
        modules: the modules that it is part of, outermost first: paths by identifier, with classes.
        origin: name of the node of the exported graph that it came from; empty when unknown.
    """

    name: str
    operator: str
    debug_handle: int
    stack_trace: str
    modules: dict[str, tuple[str, str]]
    origin: str


def store_program(program: ExportedProgram) -> StoredProgram:
    """An exported program.

    Raises:
        NotSupportedError: torch cannot write it; the message says why.
    """
    artifact = _serialize(program)
    return _stored(artifact, _older(json.loads(artifact.exported_program)))


def store_edge_graph(edge: EdgeGraph, graph_id: int) -> StoredProgram:
    """An edge graph.

    Args:
        edge: the graph, without delegates.
        graph_id: of the exported graph that it came from.

    Raises:
        NotSupportedError: torch cannot write it; the message says why.
    """
    program = to_exported_program(edge)
    origins = {
        node: str(node.meta.pop("from_node", "")) for node in _fx_nodes(program.graph_module)
    }
    artifact = _serialize(program)
    content = _older(json.loads(artifact.exported_program))
    _annotate(content["graph_module"]["graph"], program.graph_module, origins, graph_id)
    return _stored(artifact, content)


def _annotate(
    graph: Any, module: fx.GraphModule, origins: Mapping[fx.Node, str], graph_id: int
) -> None:
    """Give the nodes of a graph's JSON, and of the bodies in it, what torch does not write."""
    by_name = {node.name: node for node in module.graph.nodes}
    for node in graph["nodes"]:
        if node["target"].startswith(_ATEN) and not node["target"].startswith(_HIGHER_ORDER):
            node["target"] = _EDGE + node["target"].removeprefix(_ATEN)
        source = by_name.get(node["name"])
        handle = source.meta.get("debug_handle", 0) if source is not None else 0
        node["metadata"]["debug_handle"] = str(int(handle or 0))
        node["metadata"].pop("from_node", None)
        if source is not None and origins[source]:
            node["metadata"]["from_node"] = json.dumps([_source(origins[source], graph_id)])
        for body in _bodies(node):
            _annotate(body["graph"], getattr(module, body["name"]), origins, graph_id)


def _fx_nodes(module: fx.GraphModule) -> Iterator[fx.Node]:
    """The nodes of a graph and of the bodies in it."""
    for one in module.modules():
        if isinstance(one, fx.GraphModule):
            yield from one.graph.nodes


def _bodies(node: Mapping[str, Any]) -> list[Any]:
    """The graphs that a node runs, with their names."""
    return [one["arg"]["as_graph"] for one in node["inputs"] if "as_graph" in one["arg"]]


def _graphs(graph: Any) -> Iterator[Any]:
    """A graph and the bodies in it."""
    yield graph
    for node in graph["nodes"]:
        for body in _bodies(node):
            yield from _graphs(body["graph"])


def load_program(stored: StoredProgram) -> ExportedProgram:
    """The program, which runs. Nodes have their debug handles in `meta["debug_handle"]`.

    Raises:
        InvalidProgramError: it is damaged, or holds operators that are not known here.
    """
    from torch._export.serde.serialize import SerializedArtifact, deserialize

    try:
        content = json.loads(stored.graph)
        handles = {node.name: node.debug_handle for node in stored.nodes}
        artifact = SerializedArtifact(
            json.dumps(_newer(content)).encode(),
            stored.state_dict,
            stored.constants,
            stored.example_inputs,
        )
        program = deserialize(artifact)
    except InvalidProgramError:
        raise
    except Exception as error:  # torch raises whatever comes up in damaged content
        raise InvalidProgramError(
            f"the ETRecord's program cannot be read: {type(error).__name__}: {error}"
        ) from error
    for node in program.graph.nodes:
        if node.op == "call_function" and handles.get(node.name):
            node.meta["debug_handle"] = handles[node.name]
    return program


def _serialize(program: ExportedProgram) -> "SerializedArtifact":
    from torch._export.serde.serialize import serialize  # a second of imports

    try:
        return serialize(program)
    except Exception as error:  # torch raises whatever it cannot write
        raise NotSupportedError(
            f"torch cannot write this program into an ETRecord: {type(error).__name__}: {error}"
        ) from error


def _stored(artifact: "SerializedArtifact", content: Any) -> StoredProgram:
    return StoredProgram(
        json.dumps(content).encode(),
        artifact.state_dict,
        artifact.constants,
        artifact.example_inputs,
    )


def _older(content: Any) -> Any:
    """The JSON of the older schema."""
    content = _without(content, lambda key, value: key in _NEWER or (key == "index" and not value))
    content["graph_module"].pop("metadata", None)
    content["schema_version"] = dict(_VERSION)
    content["dialect"] = ""
    content["verifiers"] = _renamed(content["verifiers"], EdgeDialectVerifier.dialect, _DIALECT)
    return content


def _newer(content: Any) -> Any:
    """The JSON of torch's own schema."""
    content = dict(content)
    content.pop("dialect", None)
    verifiers = content.get("verifiers", [])
    content["verifiers"] = _renamed(verifiers, _DIALECT, EdgeDialectVerifier.dialect)
    from torch._export.serde import schema

    major, minor = schema.SCHEMA_VERSION
    content["schema_version"] = {"major": major, "minor": minor}
    for graph in _graphs(content["graph_module"]["graph"]):
        graph.setdefault("sym_float_values", {})
        for node in graph["nodes"]:
            _make_newer(node)
    return content


def _renamed(names: list[str], old: str, new: str) -> list[str]:
    return [new if name == old else name for name in names]


def _make_newer(node: Any) -> None:
    node["target"] = node["target"].replace(_EDGE, _ATEN)
    if node["target"] in _WITHOUT_ORDER:
        node["target"] = _WITHOUT_ORDER[node["target"]]
        node["inputs"] = [one for one in node["inputs"] if one["name"] != "dim_order"]
    if node["target"].startswith(_HIGHER_ORDER):
        # A tensor alone has the node's own name, one of a tuple that of what picks it.
        names = [one.get("as_tensor", {}).get("name") for one in node["outputs"]]
        node["is_hop_single_tensor_return"] = names == [node["name"]]
    # torch reads some of the metadata itself; handles and origins are ours.
    for key in ("debug_handle", "from_node"):
        node["metadata"].pop(key, None)


def _without(value: Any, is_left_out: Callable[[str, Any], bool]) -> Any:
    """JSON without the fields of objects that a function names."""
    if isinstance(value, Mapping):
        return {
            key: _without(item, is_left_out)
            for key, item in value.items()
            if not is_left_out(key, item)
        }
    return [_without(item, is_left_out) for item in value] if isinstance(value, list) else value


def _source(origin: str, graph_id: int) -> dict[str, Any]:
    return {
        "name": origin,
        "target": origin,
        "graph_id": graph_id,
        "pass_name": "decompose",
        "action": "create",
        "from_node": [],
    }


def _node(node: Mapping[str, Any]) -> RecordNode:
    metadata = node["metadata"]
    handle = str(metadata.get("debug_handle", "0"))
    operator = str(node["target"]).removeprefix(_EDGE).removeprefix(_ATEN)
    return RecordNode(
        name=str(node["name"]),
        operator=operator,
        debug_handle=int(handle) if handle.isdigit() else 0,
        stack_trace=str(metadata.get("stack_trace", "")),
        modules=_modules(str(metadata.get("nn_module_stack", ""))),
        origin=_origin(metadata.get("from_node")),
    )


def fx_nodes(graph: fx.Graph) -> list[RecordNode]:
    """The nodes of a graph in memory that call operators."""
    found = []
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        stack = (node.meta.get("nn_module_stack") or {}).items()
        origin = node.meta.get("from_node")
        found.append(
            RecordNode(
                name=node.name,
                operator=str(node.target),
                debug_handle=int(node.meta.get("debug_handle") or 0),
                stack_trace=str(node.meta.get("stack_trace") or ""),
                modules={
                    key: (str(path), kind if isinstance(kind, str) else kind.__qualname__)
                    for key, (path, kind) in stack
                },
                origin=origin if isinstance(origin, str) else node.name,
            )
        )
    return found


def _modules(text: str) -> dict[str, tuple[str, str]]:
    """`identifier,path,class;…`."""
    found = {}
    for entry in text.split(";"):
        parts = entry.split(",")
        if len(parts) >= 3:
            found[parts[0]] = (parts[1], ",".join(parts[2:]))
    return found


def _origin(text: str | None) -> str:
    """The name of the eldest node that another one came from."""
    sources = json.loads(text) if text else []
    name = ""
    while sources:
        name = str(sources[-1]["name"])
        sources = sources[-1]["from_node"]
    return name


def tensors_to_bytes(value: Any) -> bytes:
    """Tensors and numbers in lists and dicts, as ETRecords hold them."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def tensors_from_bytes(data: bytes, what: str) -> Any:
    """What `tensors_to_bytes` wrote.

    Raises:
        InvalidProgramError: the bytes are damaged, or hold something else.
    """
    try:
        return torch.load(io.BytesIO(data), weights_only=True)
    except Exception as error:  # torch raises whatever comes up in damaged content
        raise InvalidProgramError(f"the ETRecord's {what} cannot be read: {error}") from error
