"""From an exported program to a quantized one: prepare, calibrate, convert, export again."""

from collections.abc import Iterable, Sized
from itertools import islice
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from etlab.errors import LoweringError
from etlab.exir import stages
from etlab.exir.recurrent import recurrent_layers_whole
from etlab.quantize.base import QuantizeRequest, quiet_imports
from etlab.quantize.pt2e.cleaning import fold_batch_norms

with quiet_imports():
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import Quantizer as Pt2eQuantizer

_DEQUANTIZE = (
    torch.ops.quantized_decomposed.dequantize_per_channel.default,
    torch.ops.quantized_decomposed.dequantize_per_tensor.default,
)


def quantize(
    request: QuantizeRequest, quantizer: Pt2eQuantizer, *, steps: int | None = None
) -> ExportedProgram:
    """The whole way.

    Args:
        request: the model and its data.
        quantizer: of torchao's contract.
        steps: how many samples are enough; None takes all.

    Raises:
        InvalidArgumentError: the model does not take a sample.
        InterruptedExecutionError: a stage listener asked for a stop.
        LoweringError: values in the model are infinite or not a number.
    """
    model = fold_batch_norms(request.exported.module())
    prepared = prepare_pt2e(model, quantizer)
    calibrate(prepared, request.calibration, steps=steps)
    return export_quantized(convert_pt2e(prepared), request)


def calibrate(
    prepared: fx.GraphModule, samples: Iterable[tuple[Any, ...]], *, steps: int | None = None
) -> None:
    """Show the observers of a prepared model what its values are.

    Args:
        prepared: a model with observers.
        samples: tuples of arguments.
        steps: how many samples are enough; None takes all.

    Raises:
        InterruptedExecutionError: a stage listener asked for a stop.
        LoweringError: an observer saw values that are infinite or not a number.
    """
    total = len(samples) if isinstance(samples, Sized) else None
    if steps is not None:
        total = steps if total is None else min(steps, total)
    with torch.no_grad():
        for sample in stages.parts("calibrate", islice(samples, steps), total):
            prepared(*sample)
    for node in prepared.graph.nodes:
        observer = getattr(prepared, str(node.target), None) if node.op == "call_module" else None
        for edge in (getattr(observer, "min_val", None), getattr(observer, "max_val", None)):
            if isinstance(edge, torch.Tensor) and edge.isnan().any():
                raise LoweringError(_not_finite(node))


def _not_finite(node: fx.Node) -> str:
    return (
        f"the result of '{node.args[0]}' is not a number for a calibration sample, which no integer"
        " stands for: look at the sample, or keep that part in float"
    )


def export_quantized(converted: fx.GraphModule, request: QuantizeRequest) -> ExportedProgram:
    """A converted model as a program again."""
    with recurrent_layers_whole():
        program = torch.export.export(
            converted, request.example_inputs, dynamic_shapes=request.dynamic_shapes, strict=False
        )
    dequantize_late(program.graph)
    return program


def dequantize_late(graph: fx.Graph) -> None:
    """Move every dequantize of a constant to its first user, so that its floats live shortly."""
    places = {node: place for place, node in enumerate(graph.nodes)}
    for node in list(graph.nodes):
        if node.target in _DEQUANTIZE and node.users and _is_placeholder(node.args[0]):
            min(node.users, key=places.__getitem__).prepend(node)


def _is_placeholder(node: Any) -> bool:
    return isinstance(node, fx.Node) and node.op == "placeholder"
