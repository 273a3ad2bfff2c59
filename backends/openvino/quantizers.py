"""The quantizer whose integers OpenVINO computes with."""

from typing import Any

from torch import fx

from etlab.quantize.int8 import Int8


class Int8ForOpenvino(Int8):
    """Static int8 around layers, sums, pooling and what moves elements.

    OpenVINO computes sigmoid, tanh, means and the like in float, so that integers around them
    would round twice for nothing. Parameters are those of `int8`.
    """

    name = "int8-openvino"
    summary = "int8 where OpenVINO computes with integers, scales fixed by calibration (PT2E)"

    def _annotating(self) -> Any:
        from etlab.quantize.pt2e.rules import PRODUCTS, SHARED, aten

        kept = {*PRODUCTS, *SHARED, aten.add.Tensor, aten.cat.default}

        def is_integer_in_openvino(node: fx.Node) -> bool:
            return node.target in kept

        return super()._annotating().set_filter_function(is_integer_in_openvino)
