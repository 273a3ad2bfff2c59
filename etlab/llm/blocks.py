"""Weights as GGUF files hold them: integers in blocks of 32 columns, taken over as they are.

`Q4_1` becomes `etlab::linear_blocks`, an operator of our runtime alone: its blocks have a least
value, which no official 4-bit format has. `Q4_0` becomes the same, with the least value -8 steps.
`Q8_0` becomes official operators.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed::
from torch import nn
from torch.nn import functional

from etlab.exir.shared_operators import shared_library
from etlab.quantize.intx.embedding import QuantizedEmbedding

BLOCK = 32


@dataclass(frozen=True, slots=True)
class Blocks:
    """A matrix in blocks: `values * scales`, or `values * scales + least`.

    Attributes:
        values: (rows, columns): int8, or with `least` uint8 from 0 to 15.
        scales: (rows, columns / 32) float16.
        least: alike, of 4-bit values.
    """

    values: torch.Tensor
    scales: torch.Tensor
    least: torch.Tensor | None

    def with_rows(self, order: torch.Tensor) -> "Blocks":
        """The same with its rows in another order."""
        least = None if self.least is None else self.least[order]
        return Blocks(self.values[order], self.scales[order], least)


def unpack_steps(steps: torch.Tensor) -> torch.Tensor:
    """(rows, columns / 2) bytes to (rows, columns) values from 0 to 15.

    Byte i of a block holds column i in its lower half and column i + 16 in its upper one.
    """
    bytes_ = steps.reshape(len(steps), -1, BLOCK // 2)
    return torch.cat((bytes_ & 15, bytes_ >> 4), dim=-1).reshape(len(steps), -1)


def pack_steps(values: torch.Tensor) -> torch.Tensor:
    """What `unpack_steps` undoes."""
    halves = values.reshape(len(values), -1, 2, BLOCK // 2)
    return (halves[:, :, 0] | halves[:, :, 1] << 4).reshape(len(values), -1)


def linear_blocks(
    x: torch.Tensor, steps: torch.Tensor, scales: torch.Tensor, least: torch.Tensor
) -> torch.Tensor:
    """`etlab::linear_blocks`: x (..., columns) times the transpose of the matrix in blocks."""
    values = unpack_steps(steps).reshape(len(steps), -1, BLOCK)
    weight = values * scales.float()[:, :, None] + least.float()[:, :, None]
    return functional.linear(x, weight.reshape(len(steps), -1))


def _linear_shape(
    x: torch.Tensor, steps: torch.Tensor, scales: torch.Tensor, least: torch.Tensor
) -> torch.Tensor:
    return torch.empty((*x.shape[:-1], len(steps)), dtype=x.dtype, device=x.device)


def mixed_linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    scales: torch.Tensor,
    zeros: torch.Tensor | None,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """`quantized_decomposed::mixed_linear`: x (rows, columns) times int8 with scales in groups."""
    values = weight.reshape(len(weight), scales.shape[1], -1).to(scales.dtype)
    if zeros is not None:
        values = values - zeros[:, :, None]
    floats = (values * scales[:, :, None]).reshape(weight.shape)
    result = functional.linear(x.to(floats.dtype), floats)
    return result if dtype is None else result.to(dtype)


def _mixed_shape(
    x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, zeros: Any, dtype: Any = None
) -> torch.Tensor:
    sizes = (x.shape[0], len(weight))
    return torch.empty(sizes, dtype=dtype or scales.dtype, device=x.device)


_own: Any = torch.library.Library("etlab", "FRAGMENT")  # type: ignore[no-untyped-call]  # torch's
_own.define("linear_blocks(Tensor input, Tensor steps, Tensor scales, Tensor least) -> Tensor")
_own.impl("linear_blocks", linear_blocks, "CompositeExplicitAutograd")
_own.impl("linear_blocks", _linear_shape, "Meta")
_official: Any = shared_library(
    "quantized_decomposed", "executorch.exir.passes._quant_patterns_and_replacements"
)
if not hasattr(torch.ops.quantized_decomposed, "mixed_linear"):
    _official.define(
        "mixed_linear(Tensor input, Tensor weight, Tensor weight_scales,"
        " Tensor? weight_zero_points, ScalarType? dtype=None) -> Tensor"
    )
    _official.impl("mixed_linear", mixed_linear, "CompositeExplicitAutograd")
    _official.impl("mixed_linear", _mixed_shape, "Meta")
_shapes: list[Any] = []  # libraries with what ExecuTorch's definition lacks


def _complete_mixed_linear() -> None:
    """Let `mixed_linear` be exported where ExecuTorch's definition serves: it tells no shapes."""
    if torch._C._dispatch_has_kernel_for_dispatch_key("quantized_decomposed::mixed_linear", "Meta"):
        return
    library: Any = torch.library.Library("quantized_decomposed", "IMPL")  # type: ignore[no-untyped-call]
    library.impl("mixed_linear", _mixed_shape, "Meta")
    _shapes.append(library)


class BlockLinear(nn.Module):
    """A linear layer on a matrix in blocks."""

    def __init__(self, blocks: Blocks, bias: torch.Tensor | None) -> None:
        super().__init__()
        _complete_mixed_linear()
        self.is_asymmetric = blocks.least is not None
        if blocks.least is not None:
            self.register_buffer("weight", pack_steps(blocks.values))
            self.register_buffer("scales", blocks.scales)
            self.register_buffer("least", blocks.least)
        else:
            self.register_buffer("weight", blocks.values)
            self.register_buffer("scales", blocks.scales.float())
        self.register_buffer("bias", bias)
        self.weight: torch.Tensor
        self.scales: torch.Tensor
        self.least: torch.Tensor
        self.bias: torch.Tensor | None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """X: (..., columns)."""
        y: torch.Tensor
        if self.is_asymmetric:
            y = torch.ops.etlab.linear_blocks(x, self.weight, self.scales, self.least)
        else:
            operator: Any = torch.ops.quantized_decomposed.mixed_linear
            rows = x.reshape(-1, x.shape[-1])
            y = operator(rows, self.weight, self.scales, None).reshape(*x.shape[:-1], -1)
        return y if self.bias is None else y + self.bias


def block_embedding(blocks: Blocks) -> QuantizedEmbedding:
    """An embedding on 8-bit values in blocks."""
    return QuantizedEmbedding(blocks.values, blocks.scales.float(), 8, blocks.values.shape[1])
