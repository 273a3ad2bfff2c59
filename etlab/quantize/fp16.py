"""Everything in half precision, inputs and outputs as before."""

import copy
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from etlab.exir.recurrent import recurrent_layers_whole
from etlab.quantize.base import Quantizer, QuantizeRequest


def _cast(value: Any, source: torch.dtype, target: torch.dtype) -> Any:
    def one(leaf: Any) -> Any:
        matches = isinstance(leaf, torch.Tensor) and leaf.dtype == source
        return leaf.to(target) if matches else leaf

    return _pytree.tree_map(one, value)


class _Half(torch.nn.Module):
    def __init__(self, model: torch.nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.model = copy.deepcopy(model).to(dtype)
        self.dtype = dtype

    def forward(self, *inputs: Any) -> Any:
        halves = _cast(inputs, torch.float32, self.dtype)
        return _cast(self.model(*halves), self.dtype, torch.float32)


def export_half(request: QuantizeRequest, dtype: torch.dtype) -> ExportedProgram:
    """Export a copy of the model in another floating-point type; its borders stay float32."""
    shapes = request.dynamic_shapes
    if isinstance(shapes, dict):  # the wrapper has one variadic argument, so by place
        shapes = tuple(shapes.values())
    with recurrent_layers_whole():
        return torch.export.export(
            _Half(request.model, dtype),
            request.example_inputs,
            dynamic_shapes=None if shapes is None else {"inputs": tuple(shapes)},
            strict=False,
        )


class Float16(Quantizer):
    """Parameters and arithmetic in float16; float32 inputs and outputs are converted at the edges.

    Halves the file. Values above 65504 overflow to infinity, which the parity table shows.
    """

    name = "fp16"
    summary = "float16 parameters and arithmetic, float32 inputs and outputs"

    def quantize(self, request: QuantizeRequest) -> ExportedProgram:
        """Export a half-precision copy of the model."""
        return export_half(request, torch.float16)
