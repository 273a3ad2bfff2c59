"""Weights as int8 per output channel, activations in float."""

from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from etlab.quantize.base import Quantizer, QuantizeRequest

_aten = torch.ops.aten
# Operator to the dimension of its weight that counts output channels.
_CHANNEL_DIMENSION = {
    _aten.linear.default: 0,
    _aten.conv1d.default: 0,
    _aten.conv2d.default: 0,
    _aten.conv2d.padding: 0,
    _aten.conv3d.default: 0,
}


class Int8Weights(Quantizer):
    """Symmetric int8 weights, by default with a scale an output channel, of linear and convolution.

    Made by torchao's PT2E flow with a quantizer that annotates weights only, so the program holds
    int8 constants that `quantized_decomposed::dequantize_per_channel` reads: operators that every
    ExecuTorch runtime with its quantized library has. No calibration data is needed.

    Args:
        min_elements: weights with fewer elements stay in float: they save little and cost a call.
        per_channel: a scale for every output channel, or one for all of a weight.
    """

    name = "int8-weights"
    summary = "int8 weights per output channel, float activations (torchao PT2E)"

    def __init__(self, *, min_elements: int = 1024, per_channel: bool = True) -> None:
        """Choose from which size on weights are quantized."""
        self.min_elements = min_elements
        self.per_channel = per_channel

    def quantize(self, request: QuantizeRequest) -> ExportedProgram:
        """Quantize the exported program's weights and export the result again."""
        from etlab.quantize.pt2e.flow import quantize

        return quantize(request, _annotator(self.min_elements, self.per_channel), steps=1)


def _annotator(min_elements: int, per_channel: bool) -> Any:
    from torchao.quantization.pt2e import MinMaxObserver, PerChannelMinMaxObserver
    from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec
    from torchao.quantization.pt2e.quantizer import Quantizer as Pt2eQuantizer

    kind, scheme = MinMaxObserver, torch.per_tensor_symmetric
    if per_channel:
        kind, scheme = PerChannelMinMaxObserver, torch.per_channel_symmetric

    class WeightAnnotator(Pt2eQuantizer):  # type: ignore[misc]
        def annotate(self, model: fx.GraphModule) -> fx.GraphModule:
            for node in model.graph.nodes:
                channel = _CHANNEL_DIMENSION.get(node.target)
                if node.op != "call_function" or channel is None:
                    continue
                weight = node.args[1]
                if weight.op != "get_attr" or not _is_worth_it(weight, min_elements):
                    continue
                spec = QuantizationSpec(
                    dtype=torch.int8,
                    observer_or_fake_quant_ctr=kind.with_args(eps=2**-30),
                    quant_min=-127,
                    quant_max=127,
                    qscheme=scheme,
                    ch_axis=channel,
                )
                node.meta["quantization_annotation"] = QuantizationAnnotation(
                    input_qspec_map={weight: spec}, _annotated=True
                )
            return model

        def validate(self, model: fx.GraphModule) -> None:
            pass

    return WeightAnnotator()


def _is_worth_it(weight: fx.Node, min_elements: int) -> bool:
    value = weight.meta.get("val")
    return (
        isinstance(value, torch.Tensor)
        and value.dtype == torch.float32
        and value.numel() >= min_elements
    )
