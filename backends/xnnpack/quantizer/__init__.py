"""The quantizer, where ExecuTorch's documentation imports it from."""

from etlab.backends.xnnpack.quantizer.xnnpack_quantizer import (
    QuantizationConfig,
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)

__all__ = ["QuantizationConfig", "XNNPACKQuantizer", "get_symmetric_quantization_config"]
