"""The compiler of TOSABackend: a subgraph becomes a TOSA graph."""

from collections.abc import Sequence
from typing import Any

from torch.export import ExportedProgram

from etlab.backends.arm.format.dump import dump_graph
from etlab.backends.arm.lowering import lower
from etlab.exir.edge import EdgeGraph
from etlab.exir.partition.backend import BackendDetails, PreprocessResult
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


class TOSABackend(BackendDetails):
    """Writes TOSA graphs, the payload of ExecuTorch's TOSABackend."""

    differences = DIFFERENCES

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        """Lower a subgraph."""
        view: Any = edge_program
        return PreprocessResult(lower(view.edge_graph).data)

    @staticmethod
    def describe(processed: bytes) -> str:
        """The graph line by line."""
        return dump_graph(processed)

    @staticmethod
    def simulate(subgraph: EdgeGraph, inputs: Sequence[Any]) -> dict[str, Any]:
        """The subgraph with TOSA's integer arithmetic."""
        from etlab.backends.arm.simulation import simulate

        return simulate(subgraph, inputs)
