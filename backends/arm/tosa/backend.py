"""The compiler of TOSABackend: a subgraph becomes a TOSA graph."""

from collections.abc import Sequence
from typing import Any

from torch.export import ExportedProgram

from etlab.backends.arm.format.dump import dump_graph
from etlab.backends.arm.format.inside import GraphInside
from etlab.backends.arm.lowering import Lowered, lower
from etlab.exir.edge import EdgeGraph
from etlab.exir.partition.backend import BackendDetails, PreprocessResult, ValueOrigin
from etlab.exir.partition.compile_spec import CompileSpec

_PRODUCT = (
    "its bias is rounded to an integer and its sum scaled once, half up; PT2E adds and rounds "
    "floats, half to even"
)
_SUM = "it adds in fixed point and rounds half up; PT2E adds floats and rounds half to even"
DIFFERENCES = {
    **dict.fromkeys(("CONV2D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D"), _PRODUCT),
    **dict.fromkeys(("ADD", "SUB"), _SUM),
    "MUL": "it scales the exact product once; PT2E multiplies rounded floats",
    "AVG_POOL2D": "it rounds to the input's scale before it rounds to the result's",
}


def value_origins(lowered: Lowered) -> dict[int, tuple[ValueOrigin, ...]]:
    """The nodes whose integers the graph's values are, by the value's number."""
    numbers = GraphInside(lowered.graph).numbers
    found: dict[int, tuple[ValueOrigin, ...]] = {}
    for node, value in lowered.values.items():
        number = numbers.get(value.tensor.name)
        if number is None:  # zeros that a convolution brings along
            continue
        found[number] = (*found.get(number, ()), ValueOrigin(node, value.order))
    return found


class TOSABackend(BackendDetails):
    """Writes TOSA graphs, the payload of ExecuTorch's TOSABackend."""

    differences = DIFFERENCES
    times = "TOSA's reference model computes in the place of an NPU, whose times are others"

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        """Lower a subgraph."""
        view: Any = edge_program
        lowered = lower(view.edge_graph)
        return PreprocessResult(lowered.data, value_origins=value_origins(lowered))

    @staticmethod
    def look_inside(processed: bytes) -> GraphInside:
        """The graph's operators and values."""
        return GraphInside.of(processed)

    @staticmethod
    def describe(processed: bytes) -> str:
        """The graph line by line."""
        return dump_graph(processed)

    @staticmethod
    def simulate(
        subgraph: EdgeGraph, inputs: Sequence[Any], compile_specs: Sequence[CompileSpec]
    ) -> dict[str, Any]:
        """The subgraph with TOSA's integer arithmetic."""
        from etlab.backends.arm.simulation import simulate

        return simulate(subgraph, inputs)
