"""Linear layers and convolutions on 8-bit integers, with activations quantized at run time."""

from collections.abc import Collection
from typing import Any

from torch.export import ExportedProgram

from etlab.quantize.base import Quantizer, QuantizeRequest, Switched


class Int8Dynamic(Quantizer):
    """Dynamic int8: every linear layer and plain 2-d convolution chooses its input's scale itself.

    Needs no data. In PyTorch and without a delegate the scale is one for the whole input; XNNPACK
    takes one for every row, which is closer to float.

    Args:
        per_channel: a scale for every output channel of a weight; XNNPACK takes nothing else.
        weights: how the weights' ranges are found: "min-max" or "mse".
        keep_float: names of modules that stay in float, with what is in them, or of operators
            (`aten.add`).
    """

    name = "int8-dynamic"
    summary = "int8 weights, activations quantized at run time (PT2E)"

    def __init__(
        self,
        *,
        per_channel: bool = True,
        weights: str = "min-max",
        keep_float: Collection[str] = (),
    ) -> None:
        """Choose how scales are found, and what is left alone."""
        self.per_channel = per_channel
        self.weights = weights
        self.keep_float = keep_float

    def quantize(self, request: QuantizeRequest) -> ExportedProgram:
        """Convert; the observers of weights see them in one run."""
        from etlab.quantize.pt2e.flow import quantize

        return quantize(request, self._annotating(), steps=1)

    def switched(self, request: QuantizeRequest) -> Switched:
        """Look at the weights once, convert nothing."""
        from etlab.quantize.pt2e.switches import switched_model

        return switched_model(request, self._annotating(), steps=1)

    def _annotating(self) -> Any:
        from etlab.quantize.pt2e.config import get_symmetric_quantization_config
        from etlab.quantize.pt2e.quantizer import IntegerQuantizer

        config = get_symmetric_quantization_config(
            is_per_channel=self.per_channel, is_dynamic=True, weights=self.weights
        )
        return IntegerQuantizer().set_global(config).keep_float(self.keep_float)
