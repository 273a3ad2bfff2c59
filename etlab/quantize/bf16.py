"""Everything in bfloat16, inputs and outputs as before."""

import torch
from torch.export import ExportedProgram

from etlab.quantize.base import Quantizer, QuantizeRequest
from etlab.quantize.fp16 import export_half


class BFloat16(Quantizer):
    """Parameters and arithmetic in bfloat16; float32 inputs and outputs are converted at the edges.

    Halves the file and keeps float32's range, with 8 bits of precision. XNNPACK takes linear layers
    of it with `XnnpackPartitioner(enable_bf16=True)`.
    """

    name = "bf16"
    summary = "bfloat16 parameters and arithmetic, float32 inputs and outputs"

    def quantize(self, request: QuantizeRequest) -> ExportedProgram:
        """Export a copy of the model in bfloat16."""
        return export_half(request, torch.bfloat16)
