"""XNNPACK's integer arithmetic in PyTorch: one function an operator, on integers and their scales.

Scalars are float32 where XNNPACK's are: the order of their operations is part of the result.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import fx

from etlab.backends.xnnpack.operators.registry import argument, is_zero_padding
from etlab.backends.xnnpack.quantized import MOVES, Weight
from etlab.backends.xnnpack.steps import PerChannel, PerTensor

PRODUCTS = ("aten.linear.default", "aten.convolution.default")
NO_LIMITS = (-math.inf, math.inf)
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Operand:
    """An input.

    Attributes:
        integers: int8.
        scale: what they stand for.
    """

    integers: torch.Tensor
    scale: PerTensor

    @property
    def centred(self) -> torch.Tensor:
        """The integers without their zero point, int32."""
        return self.integers.to(torch.int32) - self.scale.zero_point


Limits = tuple[float, float]
Rule = Callable[[fx.Node, Sequence[Operand], PerTensor, Limits], torch.Tensor]


def quantized(values: torch.Tensor, scale: PerTensor) -> torch.Tensor:
    """Floats as integers: a product, limits, rounding half to even, the zero point."""
    inverse = np.float32(1.0) / np.float32(scale.scale)
    return _rounded(values.to(torch.float32) * float(inverse), scale.zero_point, -128, 127)


def dequantized(integers: torch.Tensor, scale: PerTensor) -> torch.Tensor:
    """Integers as the floats that they stand for."""
    centred = integers.to(torch.int32) - scale.zero_point
    return centred.to(torch.float32) * float(np.float32(scale.scale))


def limits_of(node: fx.Node) -> Limits:
    """The range that an activation limits to; none for other nodes."""
    match str(node.target):
        case "aten.relu.default":
            return 0.0, math.inf
        case "aten.hardtanh.default":
            low, high = argument(node, 1, "min_val", -1.0), argument(node, 2, "max_val", 1.0)
        case "aten.clamp.default":
            low, high = argument(node, 1, "min"), argument(node, 2, "max")
        case _:
            return NO_LIMITS
    return (
        -math.inf if low is None else float(low),
        math.inf if high is None else float(high),
    )


def integer_limits(limits: Limits, scale: PerTensor) -> tuple[int, int]:
    """The smallest and largest integer within a range."""
    found = []
    for limit in limits:
        number = np.float32(max(min(limit, math.inf), -math.inf))
        scaled = number / np.float32(scale.scale) + np.float32(scale.zero_point)
        found.append(int(np.rint(np.clip(scaled, np.float32(-128), np.float32(127)))))
    return found[0], found[1]


def padded_source(node: fx.Node) -> tuple[Any, tuple[int, ...]]:
    """The input of a product before zero padding that it takes along, and that padding.

    Returns:
        The node, and amounts as `torch.nn.functional.pad` takes them.
    """
    source: Any = node.args[0]
    is_convolution = str(node.target) == "aten.convolution.default"
    if not is_convolution or node.args[6]:
        return source, ()
    if is_zero_padding(source, source.meta["val"].dim() - 2):
        return source.args[0], tuple(source.args[1])
    return source, ()


def product(
    node: fx.Node,
    operand: Operand,
    padding: tuple[int, ...],
    weight: Weight,
    bias: torch.Tensor | None,
    result: PerTensor,
    limits: Limits,
) -> torch.Tensor:
    """A linear layer or convolution: exact sums with an integer bias, then one float product."""
    x = torch.nn.functional.pad(operand.centred, padding) if padding else operand.centred
    sums = accumulated(node, x, weight.elements)
    shape = [1] * sums.dim()
    axis = 1 if str(node.target) == "aten.convolution.default" else sums.dim() - 1
    shape[axis] = -1
    scales = _weight_scales(weight)
    if bias is not None:
        sums += _integer_bias(bias, operand.scale, weight).double().reshape(shape)
    ratios = scales * np.float32(operand.scale.scale) / np.float32(result.scale)
    scaled = sums.to(torch.float32) * torch.from_numpy(np.atleast_1d(ratios)).reshape(shape)
    return _rounded(scaled, result.zero_point, *integer_limits(limits, result))


def accumulated(node: fx.Node, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The sums of a layer over integers: exact, as float64.

    Args:
        node: linear or convolution.
        x: integers.
        weight: int8, logical sizes.
    """
    numbers, kernel = x.double(), weight.double()
    if str(node.target) == "aten.linear.default":
        return numbers @ kernel.T
    _, _, _, stride, padding, dilation, is_transposed, output_padding, groups = node.args
    if is_depthwise_picture(node, weight):
        return _depthwise(x, weight, stride, padding, dilation)
    rest = (stride, padding, dilation, is_transposed, output_padding, groups)
    sums: torch.Tensor = torch.ops.aten.convolution.default(numbers, kernel, None, *rest)
    return sums


def is_depthwise_picture(node: fx.Node, weight: torch.Tensor) -> bool:
    """Whether a convolution of pictures has a kernel for each channel."""
    has_kernels = weight.dim() == 4 and weight.shape[1] == 1 and node.args[8] != 1
    return bool(has_kernels and not node.args[6])


def _depthwise(
    x: torch.Tensor, weight: torch.Tensor, stride: Any, padding: Any, dilation: Any
) -> torch.Tensor:
    """Tap by tap: far quicker in integers than a grouped convolution in float64."""
    stride, padding, dilation = (list(one) * (2 // len(one)) for one in (stride, padding, dilation))
    x = torch.nn.functional.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    x = x.repeat_interleave(weight.shape[0] // x.shape[1], dim=1)
    sizes = [
        (x.shape[2 + axis] - dilation[axis] * (weight.shape[2 + axis] - 1) - 1) // stride[axis] + 1
        for axis in range(2)
    ]
    total = torch.zeros((x.shape[0], weight.shape[0], *sizes), dtype=torch.int32)
    for row in range(weight.shape[2]):
        for column in range(weight.shape[3]):
            top, left = row * dilation[0], column * dilation[1]
            part = x[
                :,
                :,
                top : top + (sizes[0] - 1) * stride[0] + 1 : stride[0],
                left : left + (sizes[1] - 1) * stride[1] + 1 : stride[1],
            ]
            total += part * weight[:, 0, row, column].to(torch.int32).reshape(1, -1, 1, 1)
    return total.double()


def _weight_scales(weight: Weight) -> Any:
    """float32, one or one an output."""
    if isinstance(weight.quantization, PerChannel):
        return weight.quantization.scales.reshape(-1).float().numpy()
    assert isinstance(weight.quantization, PerTensor)
    return np.float32(weight.quantization.scale)


def _integer_bias(bias: torch.Tensor, source: PerTensor, weight: Weight) -> torch.Tensor:
    """The bias in steps of the input's times the weight's scale, rounded half to even."""
    if isinstance(weight.quantization, PerChannel):
        steps: Any = weight.quantization.scales.reshape(-1).float() * source.scale
    else:
        assert isinstance(weight.quantization, PerTensor)
        steps = weight.quantization.scale * source.scale
    whole = torch.round(bias.reshape(-1).float() * (1.0 / steps))
    return whole.double().clamp(-(2.0**31), 2.0**31 - 1)


def _rounded(scaled: torch.Tensor, zero_point: int, low: int, high: int) -> torch.Tensor:
    """float32 to int8: limits first, half to even, then the zero point; NaN becomes the highest."""
    limited = torch.nan_to_num(scaled, nan=_LARGEST, posinf=_LARGEST, neginf=-_LARGEST)
    limited = limited.clamp(low - zero_point, high - zero_point)
    return (torch.round(limited).to(torch.int32) + zero_point).to(torch.int8)


def _sum(sign: int) -> Rule:
    def rule(
        node: fx.Node, operands: Sequence[Operand], result: PerTensor, limits: Limits
    ) -> torch.Tensor:
        """Fixed point: both scales as integers with one shift, rounded half up."""
        out = np.float32(result.scale)
        ratios = [np.float32(one.scale.scale) / out for one in operands]
        shift = 20 - math.frexp(float(max(ratios)))[1] + 1
        first, second = (int(np.rint(np.ldexp(ratio, shift))) for ratio in ratios)
        total = operands[0].centred.long() * first + operands[1].centred.long() * (sign * second)
        whole = ((total + (1 << (shift - 1))) >> shift) + result.zero_point
        low, high = integer_limits(limits, result)
        return whole.clamp(low, high).to(torch.int8)

    return rule


def _multiplied(
    node: fx.Node, operands: Sequence[Operand], result: PerTensor, limits: Limits
) -> torch.Tensor:
    """Exact products, scaled in float."""
    a, b = operands
    scale = np.float32(a.scale.scale) * np.float32(b.scale.scale) / np.float32(result.scale)
    scaled = (a.centred * b.centred).to(torch.float32) * float(scale)
    return _rounded(scaled, result.zero_point, *integer_limits(limits, result))


def _mean(
    node: fx.Node, operands: Sequence[Operand], result: PerTensor, limits: Limits
) -> torch.Tensor:
    """Exact sums, one scale and one shift in float, rounded in one go."""
    (x,) = operands
    dims: Any = argument(node, 1, "dim")
    keepdim = bool(argument(node, 2, "keepdim", False))
    sums = x.integers.to(torch.int64).sum(dims, keepdim=keepdim)
    count = np.float32(x.integers.numel() // max(1, sums.numel()))
    ratio = np.float32(x.scale.scale) / np.float32(result.scale)
    scale = ratio * (np.float32(1.0) / count)
    shift = np.float32(result.zero_point) - count * np.float32(x.scale.zero_point) * scale
    scaled = sums.to(torch.float32) * float(scale) + float(shift)
    return torch.round(scaled).clamp(-128, 127).to(torch.int8)


def _looked_up(function: Callable[[fx.Node, np.ndarray], np.ndarray]) -> Rule:
    def rule(
        node: fx.Node, operands: Sequence[Operand], result: PerTensor, limits: Limits
    ) -> torch.Tensor:
        """A table of all 256 integers."""
        (x,) = operands
        numbers = np.arange(-128, 128, dtype=np.float32) - np.float32(x.scale.zero_point)
        values = function(node, numbers * np.float32(x.scale.scale)).astype(np.float32)
        scaled = values * (np.float32(1.0) / np.float32(result.scale))
        whole = np.rint(scaled + np.float32(result.zero_point))
        table = torch.from_numpy(np.clip(np.nan_to_num(whole), -128, 127).astype(np.int8))
        return table[x.integers.long() + 128]

    return rule


def _leaky(
    node: fx.Node, operands: Sequence[Operand], result: PerTensor, limits: Limits
) -> torch.Tensor:
    """Fixed point with eight bits behind the point, rounded half up."""
    (x,) = operands
    positive = np.float32(x.scale.scale) / np.float32(result.scale)
    negative = positive * np.float32(argument(node, 1, "negative_slope", 0.01))
    above, below = (int(np.rint(np.float32(256.0) * one)) for one in (positive, negative))
    centred = x.centred
    product = torch.where(centred >= 0, centred * above, centred * below)
    whole = ((product + 0x80) >> 8) + result.zero_point
    return whole.clamp(-128, 127).to(torch.int8)


def _moved(
    node: fx.Node, operands: Sequence[Operand], result: PerTensor, limits: Limits
) -> torch.Tensor:
    """Integers at other places; limits of activations in integers."""
    target: Any = node.target
    name = str(target)
    if name == "aten.cat.default":
        by_node = dict(zip(node.all_input_nodes, operands, strict=True))
        listed: Any = node.args[0]
        joined = [by_node[one].integers for one in listed]
        return torch.cat(joined, int(argument(node, 1, "dim", 0)))
    (x,) = operands
    if name == "aten.constant_pad_nd.default":
        number = np.float32(argument(node, 2, "value", 0.0)) / np.float32(result.scale)
        filled = int(np.clip(np.rint(number) + result.zero_point, -128, 127))
        amounts: Any = node.args[1]
        return torch.nn.functional.pad(x.integers, tuple(amounts), value=filled)
    if name == "aten.max_pool2d_with_indices.default":
        pooled: torch.Tensor = target(x.integers.float(), *node.args[1:], **node.kwargs)[0]
        return pooled.to(torch.int8)
    if limits_of(node) != NO_LIMITS or name.startswith(("aten.relu", "aten.hardtanh")):
        low, high = integer_limits(limits_of(node), result)
        return x.integers.clamp(low, high)
    moved: torch.Tensor = target(x.integers, *node.args[1:], **node.kwargs)
    return moved


def _sigmoid(node: fx.Node, x: np.ndarray) -> np.ndarray:
    e = np.exp(np.clip(x, -100.0, 100.0).astype(np.float64))
    return np.where(x > 100.0, 1.0, np.where(x < -100.0, 0.0, e / (1.0 + e)))


def _elu(node: fx.Node, x: np.ndarray) -> np.ndarray:
    alpha = np.float32(argument(node, 1, "alpha", 1.0))
    negative = np.expm1(x.astype(np.float64)).astype(np.float32)
    return np.where(x < 0, alpha * negative, x)


RULES: dict[str, Rule] = {
    "aten.add.Tensor": _sum(1),
    "aten.sub.Tensor": _sum(-1),
    "aten.mul.Tensor": _multiplied,
    "aten.mean.dim": _mean,
    "aten.sigmoid.default": _looked_up(_sigmoid),
    "aten.tanh.default": _looked_up(lambda node, x: np.tanh(x.astype(np.float64))),
    "aten.elu.default": _looked_up(_elu),
    "aten.leaky_relu.default": _leaky,
    **dict.fromkeys(
        (
            "aten.relu.default",
            "aten.hardtanh.default",
            "aten.clamp.default",
            *MOVES,
        ),
        _moved,
    ),
}
