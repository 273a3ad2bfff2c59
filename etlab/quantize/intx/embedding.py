"""Embedding tables of few bits, which one operator of both runtimes reads row by row.

The operators `quantized_decomposed::embedding_byte`, `embedding_4bit` and `embedding_2bit` have the
official names, schemas and packing; importing this module defines those that the process lacks.
"""

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from etlab.exir.shared_operators import shared_library
from etlab.quantize.base import quiet_imports

with quiet_imports():
    from torchao.quantization import quantize_

_NAMES = {8: "embedding_byte", 4: "embedding_4bit", 2: "embedding_2bit"}
_SCHEMA = (
    "(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min,"
    " int weight_quant_max, Tensor indices"
)


class QuantizedEmbedding(nn.Module):
    """Rows of integers with scales, looked up and made float.

    Args:
        weight: (rows, columns) int8, within the range of `bits`.
        scales: (rows, groups) float.
        bits: 2, 4 or 8.
        width: columns to return, the first ones: what lies behind fills up the last group.
    """

    def __init__(self, weight: torch.Tensor, scales: torch.Tensor, bits: int, width: int) -> None:
        super().__init__()
        self.bits, self.width = bits, width
        self.register_buffer("weight", pack(weight, bits))
        self.register_buffer("scales", scales.squeeze(1) if scales.shape[1] == 1 else scales)
        self.weight: torch.Tensor
        self.scales: torch.Tensor

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        """Indices: integers of any shape; returns the rows, in the dtype of the scales."""
        operator: Any = getattr(torch.ops.quantized_decomposed, _NAMES[self.bits]).dtype
        least, most = -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        rows: torch.Tensor = operator(
            self.weight, self.scales, None, least, most, indices, dtype=self.scales.dtype
        )
        return rows if rows.shape[-1] == self.width else rows[..., : self.width]


def quantize_embedding(
    embedding: nn.Embedding, config: Any, bits: int, group_size: int | None
) -> QuantizedEmbedding:
    """The table of few bits of an embedding.

    Args:
        embedding: with a float weight.
        config: torchao's configuration, which finds the scales.
        bits: 2, 4 or 8.
        group_size: columns that share a scale, which may not divide the row; None: all of them.
    """
    weight = embedding.weight.detach()
    width = weight.shape[1]
    # Whole groups, and rows that fill whole bytes.
    wide = functional.pad(weight, (0, -width % (group_size or 8 // bits)))
    with torch.device("meta"):
        holder = nn.Embedding(1, 1)
    holder.weight = nn.Parameter(wide, requires_grad=False)
    quantize_(holder, config, lambda module, name: isinstance(module, nn.Embedding))
    quantized: Any = holder.weight
    return QuantizedEmbedding(quantized.qdata, quantized.scale, bits, width)


def pack(values: torch.Tensor, bits: int) -> torch.Tensor:
    """Integers of few bits as bytes, as the operators read them.

    Of two 4-bit values the first is in the upper half of a byte, of four 2-bit values it is lowest;
    the smallest value is stored as 0.

    >>> pack(torch.tensor([[-8, 7]], dtype=torch.int8), 4)
    tensor([[15]], dtype=torch.uint8)
    """
    if bits == 8:
        return values.contiguous()
    count = 8 // bits
    parts = (values + (1 << (bits - 1))).to(torch.uint8).unflatten(-1, (-1, count))  # type: ignore[no-untyped-call]  # torch's
    places = range(count) if bits == 2 else range(count - 1, -1, -1)
    packed = torch.zeros_like(parts[..., 0])
    for part, place in zip(parts.unbind(-1), places, strict=True):
        packed |= part << (place * bits)
    return packed


def unpack(packed: torch.Tensor, bits: int) -> torch.Tensor:
    """What `pack` packed."""
    if bits == 8:
        return packed
    count = 8 // bits
    places = range(count) if bits == 2 else range(count - 1, -1, -1)
    mask = (1 << bits) - 1
    parts = [(packed >> (place * bits)) & mask for place in places]
    return torch.stack(parts, -1).flatten(-2).to(torch.int8) - (1 << (bits - 1))


def _embed(
    bits: int,
    weight: torch.Tensor,
    scales: torch.Tensor,
    zero_points: torch.Tensor | None,
    indices: torch.Tensor,
    dtype: torch.dtype | None,
) -> torch.Tensor:
    values = unpack(weight[indices], bits).to(scales.dtype)
    groups = scales.shape[1] if scales.dim() == 2 else 1
    grouped = values.reshape(*values.shape[:-1], groups, -1)
    shape = (*indices.shape, groups, 1)
    if zero_points is not None:
        grouped = grouped - zero_points[indices].reshape(shape)
    rows = (grouped * scales[indices].reshape(shape)).reshape(values.shape)
    return rows if dtype is None else rows.to(dtype)


def _define(library: Any, bits: int) -> None:
    name = _NAMES[bits]
    if hasattr(torch.ops.quantized_decomposed, name):  # the official package came first
        return

    def kernel(
        weight: Any, scales: Any, zeros: Any, least: int, most: int, indices: Any
    ) -> torch.Tensor:
        return _embed(bits, weight, scales, zeros, indices, None)

    def kernel_dtype(
        weight: Any, scales: Any, zeros: Any, least: int, most: int, indices: Any, dtype: Any = None
    ) -> torch.Tensor:
        return _embed(bits, weight, scales, zeros, indices, dtype)

    def shape(
        weight: Any, scales: Any, zeros: Any, least: int, most: int, indices: Any, dtype: Any = None
    ) -> torch.Tensor:
        sizes = (*indices.shape, weight.shape[1] * (8 // bits))
        return torch.empty(sizes, dtype=dtype or scales.dtype, device=weight.device)

    library.define(f"{name}{_SCHEMA}) -> Tensor")
    library.define(f"{name}.dtype{_SCHEMA}, *, ScalarType? dtype=None) -> Tensor")
    library.impl(name, kernel, "CompositeExplicitAutograd")
    library.impl(f"{name}.dtype", kernel_dtype, "CompositeExplicitAutograd")
    library.impl(name, shape, "Meta")
    library.impl(f"{name}.dtype", shape, "Meta")


_library: Any = shared_library(
    "quantized_decomposed", "executorch.exir.passes._quant_patterns_and_replacements"
)
for _bits in _NAMES:
    _define(_library, _bits)
