"""The quantizer whose integers Arm's NPUs compute with."""

from typing import Any

from etlab.quantize.int8 import Int8


class Int8ForArm(Int8):
    """Static int8 for everything that can be: NPUs have no floats.

    Beside what `int8` quantizes these are functions of one number, which become tables, averages of
    windows, and the larger or smaller of two. Parameters are those of `int8`.
    """

    name = "int8-arm"
    summary = "int8 for all that Arm's NPUs compute, scales fixed by calibration (PT2E)"

    def _annotating(self) -> Any:
        from etlab.backends.arm.annotating import WholeQuantizer
        from etlab.quantize.pt2e.config import get_symmetric_quantization_config

        config = get_symmetric_quantization_config(
            is_per_channel=self.per_channel,
            activations=self.activations,
            weights=self.weights,
            percentile=self.percentile,
        )
        return WholeQuantizer().set_global(config).keep_float(self.keep_float)
