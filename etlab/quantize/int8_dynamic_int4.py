"""Linear layers with 4-bit weights in groups, and activations quantized row by row at run time."""

from etlab.quantize.intx.quantizer import IntxQuantizer


class Int8DynamicInt4(IntxQuantizer):
    """Linear layers with 4-bit weights in groups, and activations quantized row by row at run time.

    Parameters are those of `IntxQuantizer`.
    """

    name = "8da4w"
    summary = "4-bit weights in groups, activations quantized to 8 bits at run time (torchao)"
    bits = 4
    is_dynamic = True
