"""What quantizers with weights of few bits have in common: parameters, and torchao."""

from collections.abc import Collection
from typing import Any, ClassVar

from torch.export import ExportedProgram

from etlab.quantize.base import Quantizer, QuantizeRequest, Switched


class IntxQuantizer(Quantizer):
    """Linear layers with weights of few bits, by torchao's `quantize_`.

    Needs no data. Groups that do not divide a layer's width are filled with zeros.

    Args:
        group_size: columns that share a scale; None: a scale for every output channel.
        scales: how scales are found: "affine" (the range) or "hqq" (a search, the
            half-quadratic one).
        embedding_bits: 2, 4 or 8 for embedding tables; None keeps them in float.
        embedding_group_size: columns of a table that share a scale; None: one for a row.
        keep_float: names of modules that stay in float, with what is in them.

    Attributes:
        bits: of linear weights.
        is_dynamic: rows of activations are quantized to 8 bits at run time.
    """

    bits: ClassVar[int]
    is_dynamic: ClassVar[bool]

    def __init__(
        self,
        *,
        group_size: int | None = 32,
        scales: str = "affine",
        embedding_bits: int | None = None,
        embedding_group_size: int | None = None,
        keep_float: Collection[str] = (),
    ) -> None:
        """Choose how scales are found, and what is left alone."""
        self.group_size = group_size
        self.scales = scales
        self.embedding_bits = embedding_bits
        self.embedding_group_size = embedding_group_size
        self.keep_float = keep_float

    def quantize(self, request: QuantizeRequest) -> ExportedProgram:
        """Quantize a copy of the model, and export it."""
        from etlab.quantize.intx.flow import quantize

        return quantize(request, self._scheme())

    def switched(self, request: QuantizeRequest) -> Switched:
        """Copies of the model, made when they are asked for."""
        from etlab.quantize.intx.switches import switched_weights

        return switched_weights(request, self._scheme())

    def _scheme(self) -> Any:
        from etlab.quantize.intx.flow import Scheme

        return Scheme(
            bits=self.bits,
            group_size=self.group_size,
            scales=self.scales,
            is_dynamic=self.is_dynamic,
            embedding_bits=self.embedding_bits,
            embedding_group_size=self.embedding_group_size,
            keep_float=self.keep_float,
        )
