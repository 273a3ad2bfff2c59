"""The compiler of the reference backend: a subgraph becomes a portable program."""

from typing import Any

from torch.export import ExportedProgram

from etlab.exir.edge import EdgeGraph
from etlab.exir.executorch_program import lower_to_executorch
from etlab.exir.graph import copy_edge_graph
from etlab.exir.partition.backend import BackendDetails, PreprocessResult
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.passes.pipeline import EMISSION_PASSES, run_passes


class ReferenceBackend(BackendDetails):
    """Emits what it gets with etlab's own emitter."""

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        """Compile a subgraph to the bytes of a `.pte` with one method, `forward`."""
        view: Any = edge_program
        subgraph: EdgeGraph = copy_edge_graph(view.edge_graph)
        subgraph.name = "forward"
        run_passes(subgraph, EMISSION_PASSES)
        program = lower_to_executorch({"forward": subgraph})
        handles = {
            index: node.meta["debug_handle"]
            for index, node in enumerate(view.edge_graph.graph.nodes)
            if node.op == "call_function"
        }
        return PreprocessResult(bytes(program.buffer), debug_handle_map=handles)
