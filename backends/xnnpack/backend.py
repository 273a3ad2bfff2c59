"""The compiler of the XNNPACK delegate: a subgraph becomes a payload."""

from collections.abc import Sequence
from typing import Any

from torch.export import ExportedProgram

from etlab.backends.xnnpack.layout import choose_layouts
from etlab.backends.xnnpack.payload.dump import dump_payload
from etlab.backends.xnnpack.payload.file import read_payload, write_payload
from etlab.backends.xnnpack.payload.inside import PayloadInside, node_values
from etlab.backends.xnnpack.serialize import Serialized, serialize
from etlab.backends.xnnpack.translate import translate
from etlab.exir.edge import EdgeGraph
from etlab.exir.partition.backend import BackendDetails, PreprocessResult, node_event_name
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.specs import Bounds

_PRODUCT = (
    "its bias is rounded to an integer and its sum scaled once; PT2E adds and rounds in float"
)
_ROWS = "rows that are quantized at run time have a scale each; PT2E has one for all of them"
_SUM = "it adds in fixed point and rounds half up; PT2E adds floats and rounds half to even"
DIFFERENCES = {
    **dict.fromkeys(("Conv2d", "DepthwiseConv2d", "ConvTranspose2d"), _PRODUCT),
    "FullyConnected": f"{_PRODUCT}; {_ROWS}",
    **dict.fromkeys(("Add", "Subtract"), _SUM),
    "Multiply": "it scales the exact product once; PT2E multiplies rounded floats",
    "GlobalAvgPooling2d": "it scales the exact sum once; PT2E averages floats",
    "LeakyReLU": "it multiplies in fixed point and rounds half up",
}


class XnnpackBackend(BackendDetails):
    """Writes payloads that ExecuTorch's XNNPACK delegate runs."""

    differences = DIFFERENCES

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        """Operators become steps, the steps get layouts, and both are written down."""
        view: Any = edge_program
        edge: EdgeGraph = view.edge_graph
        steps = translate(edge)
        choose_layouts(steps)
        bounds = Bounds(edge.range_constraints)
        what = f"an input of XNNPACK subgraph '{edge.name}'"
        written = serialize(steps, lambda size: bounds.upper(size, what))
        handles, partial = _handles(written, edge)
        return PreprocessResult(
            write_payload(written.graph),
            debug_handle_map=handles,
            partial_nodes=partial,
            data_store_output=written.named_data,
            takes_any_layout=True,
            external_tags=dict(written.external_tags),
            value_origins=dict(written.origins),
        )

    @staticmethod
    def look_inside(processed: bytes) -> PayloadInside:
        """The payload's nodes and values."""
        return PayloadInside(read_payload(processed))

    @staticmethod
    def describe(processed: bytes) -> str:
        """The payload line by line."""
        return dump_payload(processed)

    @staticmethod
    def simulate(
        subgraph: EdgeGraph, inputs: Sequence[Any], compile_specs: Sequence[CompileSpec]
    ) -> dict[str, Any]:
        """The subgraph with XNNPACK's integer arithmetic."""
        from etlab.backends.xnnpack.simulation import simulate

        return simulate(subgraph, inputs)


def _handles(
    written: Serialized, edge: EdgeGraph
) -> tuple[dict[str, int | tuple[int, ...]], frozenset[str]]:
    """Debug handles of what each node of a payload computes, by its name in an ETDump.

    A node stands for the operators whose result it writes, fused ones with it; one that writes a
    half-way value or another order of a result for the operator that it is there for.

    Returns:
        The handles, and the names of the latter nodes.
    """
    known = {node.name: int(node.meta.get("debug_handle") or 0) for node in edge.graph.nodes}
    found: dict[str, int | tuple[int, ...]] = {}
    partial: set[str] = set()
    seen: dict[str, int] = {}
    for node in written.graph.xnodes or ():
        own = node.debug_handle
        if not own:
            continue
        name = node_event_name(type(node.xnode_union).__name__, own)
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        origins = [o for value in node_values(node)[1] for o in written.origins.get(value, ())]
        results = {known.get(origin.node, 0) for origin in origins if not origin.is_copy} - {0}
        if not results:
            partial.add(name)
        handles = sorted(results | {own}) if not results or max(results) >= own else sorted(results)
        found[name] = handles[0] if len(handles) == 1 else tuple(handles)
    return found, frozenset(partial)
