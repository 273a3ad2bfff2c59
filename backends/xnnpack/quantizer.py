"""torchao's quantizer for XNNPACK, kept away from what is no floating-point tensor."""

from typing import Any

import torch
from torch import fx

from etlab.quantize.base import quiet_imports

with quiet_imports():
    from torchao.testing.pt2e import _xnnpack_quantizer

get_symmetric_quantization_config = _xnnpack_quantizer.get_symmetric_quantization_config

_ANNOTATION = "quantization_annotation"


class XNNPACKQuantizer(_xnnpack_quantizer.XNNPACKQuantizer):  # type: ignore[misc]
    """Annotates what XNNPACK computes with integers; arithmetic on indices stays as it is."""

    def transform_for_annotation(self, model: fx.GraphModule) -> fx.GraphModule:
        """Scalars become tensors, but for integer arithmetic, which they would turn into floats."""
        integer = {n: n.args for n in model.graph.nodes if not _is_floating_point(n)}
        model = super().transform_for_annotation(model)
        for node, arguments in integer.items():
            node.args = arguments
        model.graph.eliminate_dead_code()
        model.recompile()
        return model

    def annotate(self, model: fx.GraphModule) -> fx.GraphModule:
        """Say where observers go."""
        model = super().annotate(model)
        for node in model.graph.nodes:
            annotation = node.meta.get(_ANNOTATION)
            if annotation is None:
                continue
            if not _is_floating_point(node):
                del node.meta[_ANNOTATION]
                continue
            wanted = annotation.input_qspec_map
            for source in [source for source in wanted if not _is_floating_point(source)]:
                del wanted[source]
        return model


def _is_floating_point(node: Any) -> bool:
    val = node.meta.get("val")
    return not isinstance(val, torch.Tensor) or val.dtype.is_floating_point
