"""From an exported program to a quantized one: prepare, calibrate, convert, export again."""

import contextlib
import operator
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from etlab.errors import InvalidArgumentError
from etlab.exir import stages
from etlab.exir.recurrent import recurrent_layers_whole
from etlab.quantize.base import QuantizeRequest, quiet_imports
from etlab.quantize.pt2e.cleaning import fold_batch_norms
from etlab.quantize.pt2e.constants import drop_unused
from etlab.quantize.pt2e.convert import convert_pt2e
from etlab.quantize.pt2e.lifting import can_lift, lift
from etlab.quantize.pt2e.training import scale_weights_for_norms

with quiet_imports():
    from torchao.quantization.pt2e.prepare import prepare
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
    prepared = prepare_pt2e(request.exported.module(), quantizer)
    calibrate(prepared, request.calibration, steps=steps)
    return export_quantized(convert_pt2e(prepared), request)


def prepare_pt2e(model: fx.GraphModule, quantizer: Pt2eQuantizer) -> fx.GraphModule:
    """A model with observers, for calibration: torchao's function, but for batch norms.

    These are folded only where the axis is the layer's and nobody else reads its result, and never
    matched against traced patterns, which takes a minute where one stays.

    Args:
        model: of `torch.export.export(...).module()`; it is changed.
        quantizer: of torchao's contract.
    """
    return _prepare(fold_batch_norms(model), quantizer, is_qat=False)


def prepare_qat_pt2e(model: fx.GraphModule, quantizer: Pt2eQuantizer) -> fx.GraphModule:
    """A model that quantizes while it is trained; export it in training mode.

    Args:
        model: of `torch.export.export(model.train(), ...).module()`; it is changed.
        quantizer: of torchao's contract, with configurations for training (`is_qat=True`).
    """
    return _prepare(fold_batch_norms(model), quantizer, is_qat=True)


def _prepare(model: fx.GraphModule, quantizer: Pt2eQuantizer, *, is_qat: bool) -> fx.GraphModule:
    model = quantizer.transform_for_annotation(model)
    quantizer.annotate(model)
    quantizer.validate(model)
    if is_qat:
        scale_weights_for_norms(model)
    drop_unused(model)
    callback = quantizer.prepare_obs_or_fq_callback
    prepared: fx.GraphModule = prepare(model, {}, is_qat, obs_or_fq_callback=callback)
    return prepared


def calibrate(
    prepared: fx.GraphModule, samples: Iterable[tuple[Any, ...]], *, steps: int | None = None
) -> None:
    """Show the observers of a prepared model what its values are.

    Args:
        prepared: a model with observers; state that its samples leave behind is undone.
        samples: tuples of arguments.
        steps: how many samples are enough; None takes all.

    Raises:
        InterruptedExecutionError: a stage listener asked for a stop.
        InvalidArgumentError: a sample makes values that are not finite, or `steps` is no count.
    """
    if steps is not None and (not isinstance(steps, int) or steps < 1):
        raise InvalidArgumentError(f"steps: expected 1 sample or more, or None, got {steps!r}")
    total = operator.length_hint(samples) or None  # a generator does not know
    if steps is not None:
        total = steps if total is None else min(steps, total)
    with torch.no_grad(), kept_state(prepared):
        for index, sample in enumerate(stages.parts("calibrate", islice(samples, steps), total)):
            try:
                prepared(*sample)
            except RuntimeError as error:
                if "is not finite" not in str(error):
                    raise
                raise InvalidArgumentError(
                    f"calibration sample {index}: it makes values that are infinite or NaN, of"
                    f" which no range can be measured: {error}"
                ) from error


@contextlib.contextmanager
def kept_state(model: fx.GraphModule) -> Iterator[None]:
    """Give the model's own buffers their values back: a stateful model writes into them."""
    names = {str(node.target) for node in model.graph.nodes if node.op == "get_attr"}
    buffers = {name: value for name, value in model.named_buffers() if name in names}
    before = {name: value.clone() for name, value in buffers.items()}
    try:
        yield
    finally:
        with torch.no_grad():
            for name, value in buffers.items():
                value.copy_(before[name])


def export_quantized(converted: fx.GraphModule, request: QuantizeRequest) -> ExportedProgram:
    """A converted model as a program again."""
    if can_lift(request.exported):
        program = lift(converted, request.exported)
        dequantize_late(program.graph)
        return program
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
