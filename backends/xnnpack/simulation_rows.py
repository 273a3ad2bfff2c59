"""Layers whose rows are quantized at run time, as XNNPACK computes them, in PyTorch."""

import torch
from torch import fx

from etlab.backends.xnnpack.quantized import Weight
from etlab.backends.xnnpack.simulation_rules import accumulated
from etlab.backends.xnnpack.steps import PerChannel


def simulate_rows(
    node: fx.Node, x: torch.Tensor, weight: Weight, bias: torch.Tensor | None
) -> torch.Tensor:
    """A linear layer (a scale for each row) or convolution (a scale for each picture).

    Args:
        node: the layer.
        x: its floating-point input.
        weight: int8 with a scale an output.
        bias: float32, or None.

    Returns:
        float32: `(sum * row's scale) * weight's scale + bias`, the last two in one rounding, as
        processors with fused multiply-add compute it.
    """
    nonbatch = 1 if str(node.target) == "aten.linear.default" else 3
    integers, inverse, zero_point = _quantized_rows(x.float(), nonbatch)
    sums = accumulated(node, integers.to(torch.int32) - zero_point, weight.elements)
    assert isinstance(weight.quantization, PerChannel)
    shape = [1] * sums.dim()
    shape[-1 if nonbatch == 1 else 1] = -1
    scaled = (sums.to(torch.float32) * inverse).double()
    scaled = scaled * weight.quantization.scales.double().reshape(shape)
    if bias is not None:
        scaled = scaled + bias.double().reshape(shape)
    return scaled.to(torch.float32)


def _quantized_rows(
    x: torch.Tensor, nonbatch: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Integers of every row, what a step stands for, and the zero point; all broadcast to x."""
    dims = tuple(range(x.dim() - nonbatch, x.dim()))
    lowest = x.amin(dims, keepdim=True).clamp(max=0.0)
    highest = x.amax(dims, keepdim=True).clamp(min=0.0)
    width = highest - lowest
    scale = torch.where(width == 0, torch.ones(()), 255.0 / width)
    low, high = lowest * scale, highest * scale
    is_nearer = (low - 128.0) + (high + 127.0) > 0
    zero_point = torch.where(is_nearer, -128.0 - low, 127.0 - high).clamp(-128.0, 127.0)
    whole = torch.round(torch.nan_to_num(zero_point))
    integers = torch.round((x * scale).clamp(-128.0 - whole, 127.0 - whole)) + whole
    return integers, 1.0 / scale, whole.to(torch.int32)
