"""The quantizer for XNNPACK, by ExecuTorch's name and with its settings."""

from etlab.quantize.intx import groups  # noqa: F401  teaches torchao widths that no group divides
from etlab.quantize.pt2e.config import QuantizationConfig, get_symmetric_quantization_config
from etlab.quantize.pt2e.quantizer import IntegerQuantizer

__all__ = ["QuantizationConfig", "XNNPACKQuantizer", "get_symmetric_quantization_config"]


class XNNPACKQuantizer(IntegerQuantizer):
    """Annotates what XNNPACK computes with integers; arithmetic on indices stays as it is."""
