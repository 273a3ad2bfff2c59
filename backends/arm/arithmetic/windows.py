"""Convolutions, pooling and products of matrices; pictures are (N, H, W, C)."""

from collections.abc import Sequence
from typing import Any

import torch

from etlab.backends.arm.arithmetic.elementwise import LIMITS, Rule
from etlab.backends.arm.format.schema import TensorEntry

pad = torch.nn.functional.pad


def _centred(inputs: Sequence[Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Input (N, C, H, W) and weights without their zero points, int32."""
    x, weight, _, zero, weight_zero = inputs
    picture = (x.int() - zero.int()).permute(0, 3, 1, 2)
    return picture, weight.int() - weight_zero.int()


def _finished(sums: torch.Tensor, bias: torch.Tensor, entry: TensorEntry) -> torch.Tensor:
    return (sums.permute(0, 2, 3, 1).long() + bias.long()).to(LIMITS[entry.type][2])


def _convolution(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    """Sums in float64, which are exact."""
    x, weight = _centred(inputs)
    top, bottom, left, right = attributes.pad
    sums = torch.nn.functional.conv2d(
        pad(x, (left, right, top, bottom)).double(),
        weight.permute(0, 3, 1, 2).double(),
        stride=attributes.stride,
        dilation=attributes.dilation,
    )
    return _finished(sums, inputs[2], entry)


def _depthwise(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    """Tap by tap, in integers."""
    x, weight = _centred(inputs)  # weight (H, W, C, multiplier)
    top, bottom, left, right = attributes.pad
    x = pad(x, (left, right, top, bottom))
    height, width = (entry.shape or ())[1:3]
    kind = LIMITS[entry.type][2]
    total = torch.zeros((*x.shape[:2], weight.shape[3], height, width), dtype=kind)
    (down, across), (rows, columns) = attributes.stride, attributes.dilation
    for row in range(weight.shape[0]):
        for column in range(weight.shape[1]):
            y, z = row * rows, column * columns
            part = x[
                :,
                :,
                y : y + (height - 1) * down + 1 : down,
                z : z + (width - 1) * across + 1 : across,
            ]
            total += part.unsqueeze(2) * weight[row, column][..., None, None]
    return _finished(total.flatten(1, 2), inputs[2], entry)


def _transposed(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    """Every element adds a window to the result, which `out_pad` widens or cuts."""
    x, weight = _centred(inputs)
    sums = torch.nn.functional.conv_transpose2d(
        x.double(), weight.permute(3, 0, 1, 2).double(), stride=attributes.stride
    )
    top, bottom, left, right = attributes.out_pad
    return _finished(pad(sums, (left, right, top, bottom)), inputs[2], entry)


def _largest(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    top, bottom, left, right = attributes.pad
    x = inputs[0].permute(0, 3, 1, 2).double()
    padded = pad(x, (left, right, top, bottom), value=float("-inf"))
    found: torch.Tensor = torch.nn.functional.max_pool2d(
        padded, attributes.kernel, attributes.stride
    )
    dtype: torch.dtype = inputs[0].dtype
    return found.permute(0, 2, 3, 1).to(dtype)


def _average(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    """The sum by a reciprocal of its count, a number of 32 bits, rounded half up."""
    x, zero, result_zero = inputs
    top, bottom, left, right = attributes.pad
    centred = (x.int() - zero.int()).permute(0, 3, 1, 2)

    def summed(values: torch.Tensor) -> torch.Tensor:
        padded = pad(values.double(), (left, right, top, bottom))
        windows = torch.nn.functional.avg_pool2d(
            padded, attributes.kernel, attributes.stride, divisor_override=1
        )
        return windows.round().long()

    sums, counts = summed(centred), summed(torch.ones_like(centred))
    bits = torch.zeros_like(counts)
    for bit in range(31):  # 32 minus the leading zeros of count - 1
        bits += ((counts - 1) >> bit) > 0
    multiplier = (((1 << 30) + 1) << bits) // counts
    shift = 30 + bits
    scaled = (sums * multiplier + (torch.ones_like(shift) << (shift - 1))) >> shift
    low, high, dtype = LIMITS[entry.type]
    result: torch.Tensor = (scaled + result_zero.long()).clamp(low, high).to(dtype)
    return result.permute(0, 2, 3, 1)


def _matrices(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    a, b, a_zero, b_zero = inputs
    product: torch.Tensor = (a.int() - a_zero.int()).double() @ (b.int() - b_zero.int()).double()
    return product.to(LIMITS[entry.type][2])


RULES: dict[str, Rule] = {
    "CONV2D": _convolution,
    "DEPTHWISE_CONV2D": _depthwise,
    "TRANSPOSE_CONV2D": _transposed,
    "MAX_POOL2D": _largest,
    "AVG_POOL2D": _average,
    "MATMUL": _matrices,
}
