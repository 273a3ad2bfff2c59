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

        return WholeQuantizer().set_global(self._config()).keep_float(self.keep_float)

    def _config(self) -> Any:
        from etlab.quantize.pt2e.config import get_symmetric_quantization_config

        return get_symmetric_quantization_config(
            is_per_channel=self.per_channel,
            activations=self.activations,
            weights=self.weights,
            percentile=self.percentile,
        )


class Int16ForArm(Int8ForArm):
    """Activations of 16 bits, weights of 8: closer to floats, at twice the memory.

    Parameters are those of `int8`; ranges are the smallest and largest values by default.
    """

    name = "int16-arm"
    summary = "int16 activations, int8 weights for Arm's NPUs, scales fixed by calibration (PT2E)"

    def __init__(self, *, activations: str = "min-max", **options: Any) -> None:
        """Choose how scales are found, and what is left alone."""
        super().__init__(activations=activations, **options)

    def _config(self) -> Any:
        from etlab.backends.arm.annotating import with_wide_activations

        return with_wide_activations(super()._config())
