"""The quantizer for XNNPACK, by ExecuTorch's name and with its settings."""

from etlab.quantize.intx.groups import teach_torchao
from etlab.quantize.pt2e.config import QuantizationConfig, get_symmetric_quantization_config
from etlab.quantize.pt2e.quantizer import IntegerQuantizer

# Code that asks for this quantizer by ExecuTorch's name calls torchao's `quantize_` beside it, on
# layers that XNNPACK computes in any width.
teach_torchao()

__all__ = ["QuantizationConfig", "XNNPACKQuantizer", "get_symmetric_quantization_config"]


class XNNPACKQuantizer(IntegerQuantizer):
    """Annotates what XNNPACK computes with integers; arithmetic on indices stays as it is."""
