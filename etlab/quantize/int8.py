"""Weights and activations as 8-bit integers, with scales measured on data."""

from collections.abc import Collection
from typing import Any

from torch.export import ExportedProgram

from etlab.quantize.base import Quantizer, QuantizeRequest, Switched


class Int8(Quantizer):
    """Static int8: what has a rule in `etlab/quantize/pt2e/rules.py` computes with integers.

    XNNPACK runs such regions on integers; without a delegate, each operator computes with floats
    between conversions, with results that differ by single steps. Sums, products and means with
    nothing but floats around them stay in float: a square in 8 bits is half of its root's.

    Args:
        per_channel: a scale for every output channel of a weight, or one for all of it.
        activations: how ranges are found: "histogram", "min-max", "moving-average", "percentile"
            or "mse".
        weights: how the weights' ranges are found: "min-max" or "mse".
        percentile: what the observer "percentile" keeps, in percent.
        steps: how many calibration samples are enough; None takes all.
        keep_float: names of modules that stay in float, with what is in them, or of operators
            (`aten.add`).
    """

    name = "int8"
    summary = "int8 weights and activations, scales fixed by calibration (PT2E)"
    needs_data = True

    def __init__(
        self,
        *,
        per_channel: bool = True,
        activations: str = "histogram",
        weights: str = "min-max",
        percentile: float | None = None,
        steps: int | None = None,
        keep_float: Collection[str] = (),
    ) -> None:
        """Choose how scales are found, and what is left alone."""
        self.per_channel = per_channel
        self.activations = activations
        self.weights = weights
        self.percentile = percentile
        self.steps = steps
        self.keep_float = keep_float

    def quantize(self, request: QuantizeRequest) -> ExportedProgram:
        """Calibrate and convert."""
        from etlab.quantize.pt2e.flow import quantize

        return quantize(request, self._annotating(), steps=self.steps)

    def switched(self, request: QuantizeRequest) -> Switched:
        """Calibrate once, convert nothing."""
        from etlab.quantize.pt2e.switches import switched_model

        return switched_model(request, self._annotating(), steps=self.steps)

    def _annotating(self) -> Any:
        from etlab.quantize.pt2e.config import get_symmetric_quantization_config
        from etlab.quantize.pt2e.quantizer import IntegerQuantizer

        config = get_symmetric_quantization_config(
            is_per_channel=self.per_channel,
            activations=self.activations,
            weights=self.weights,
            percentile=self.percentile,
        )
        return IntegerQuantizer().set_global(config).keep_float(self.keep_float)
