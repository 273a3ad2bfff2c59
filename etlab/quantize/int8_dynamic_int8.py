"""Linear layers with 8-bit weights, and activations quantized row by row at run time."""

from collections.abc import Collection

from etlab.quantize.intx.quantizer import IntxQuantizer


class Int8DynamicInt8(IntxQuantizer):
    """Linear layers with 8-bit weights, and activations quantized row by row at run time.

    Parameters are those of `IntxQuantizer`.
    """

    name = "8da8w"
    summary = "8-bit weights, activations quantized to 8 bits at run time (torchao)"
    bits = 8
    is_dynamic = True

    def __init__(
        self,
        *,
        group_size: int | None = None,
        scales: str = "affine",
        embedding_bits: int | None = None,
        embedding_group_size: int | None = None,
        keep_float: Collection[str] = (),
    ) -> None:
        """By default with a scale for every output channel."""
        super().__init__(
            group_size=group_size,
            scales=scales,
            embedding_bits=embedding_bits,
            embedding_group_size=embedding_group_size,
            keep_float=keep_float,
        )
