"""Linear layers with 4-bit weights in groups; activations stay in float."""

from etlab.quantize.intx.quantizer import IntxQuantizer


class Int4Weights(IntxQuantizer):
    """Linear layers with 4-bit weights in groups; activations stay in float.

    Parameters are those of `IntxQuantizer`.
    """

    name = "int4-weights"
    summary = "4-bit weights in groups, float activations (torchao)"
    bits = 4
    is_dynamic = False
