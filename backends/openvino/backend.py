"""The compiler of OpenvinoBackend: a subgraph becomes a model that OpenVINO has compiled."""

import io
import warnings
from typing import Any

from torch import fx
from torch.export import ExportedProgram

from etlab.backends.openvino.element_types import TYPES
from etlab.backends.openvino.package import core
from etlab.backends.openvino.quantized import as_floats
from etlab.errors import BackendMissingError, LoweringError
from etlab.exir.edge import EdgeGraph
from etlab.exir.exported import to_exported_program
from etlab.exir.graph import state_targets
from etlab.exir.partition.backend import BackendDetails, PreprocessResult
from etlab.exir.partition.compile_spec import CompileSpec


class OpenvinoBackend(BackendDetails):
    """Translates with OpenVINO's PyTorch front end and keeps the compiled model's own export."""

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        """Compile a subgraph for the device that `compile_specs` name.

        Raises:
            BackendMissingError: the package openvino is not installed.
            LoweringError: OpenVINO refuses the subgraph; the message has its words.
        """
        try:
            import openvino
        except ImportError as error:
            raise BackendMissingError(
                f"OpenvinoBackend needs the package openvino ({error}): "
                "pip install 'etlab[openvino]'"
            ) from None
        view: Any = edge_program
        edge = as_floats(view.edge_graph)
        options = {spec.key: spec.value.decode().rstrip("\0") for spec in compile_specs}
        device = options.pop("device", "CPU")
        if device != "CPU":
            options.pop("INFERENCE_PRECISION_HINT", None)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of its own use of torch
                model = openvino.convert_model(
                    to_exported_program(edge), input=_inputs(edge, openvino)
                )
            compiled = core().compile_model(model, device, options)
            exported = compiled.export_model()
        except Exception as error:  # its front end raises many kinds
            operators = sorted({str(n.target) for n in edge.graph.nodes if n.op == "call_function"})
            raise LoweringError(
                f"OpenVINO refuses a subgraph of {', '.join(operators)}: {error}; leave operators "
                "to others with op_types_to_skip"
            ) from error
        data = exported.getvalue() if isinstance(exported, io.BytesIO) else bytes(exported)
        return PreprocessResult(data)


def _inputs(edge: EdgeGraph, openvino: Any) -> list[tuple[Any, Any]]:
    """Shape and type of every input of the delegate."""
    states = state_targets(edge)
    return [
        (_shape(node, openvino), getattr(openvino.Type, TYPES[node.meta["val"].dtype]))
        for node in edge.graph.nodes
        if node.op == "placeholder" and node.name not in states
    ]


def _shape(node: fx.Node, openvino: Any) -> Any:
    return openvino.PartialShape(
        [size if isinstance(size, int) else openvino.Dimension() for size in node.meta["val"].shape]
    )
