"""Weights and biases of quantized layers, in the form that the payload stores."""

from typing import Any

import torch
from torch import fx

from etlab.backends.xnnpack.payload.schema import Datatype
from etlab.backends.xnnpack.quantized import Weight
from etlab.backends.xnnpack.steps import Order, PerChannel, PerGroup, PerTensor, Tensor
from etlab.backends.xnnpack.translate import Translation


def matrix(weight: Weight) -> Tensor:
    """The quantized weight of a linear layer, (out, in)."""
    sizes = tuple(weight.elements.shape)
    match weight.quantization:
        case PerGroup():
            packed = pack_nibbles(weight.elements)
            return Tensor(sizes, Datatype.QBINT4, weight.quantization, packed)
        case PerChannel() if weight.bits == 4:
            packed = pack_nibbles(weight.elements)
            return Tensor(sizes, Datatype.QCINT4, weight.quantization, packed)
    return kernel(weight, weight.elements, (0, 1))


def kernel(weight: Weight, elements: torch.Tensor, order: Order) -> Tensor:
    """The 8-bit weight of a layer.

    Args:
        weight: its quantization, with a scale per output channel.
        elements: int8, output channels first.
        order: the order of the payload's dimensions.
    """
    stored = elements.permute(order)
    sizes = tuple(stored.shape)
    if isinstance(weight.quantization, PerChannel):
        quantization = PerChannel(weight.quantization.scales, order.index(0))
        return Tensor(sizes, Datatype.QCINT8, quantization, stored)
    return Tensor(sizes, Datatype.QINT8, weight.quantization, stored)


def pack_nibbles(elements: torch.Tensor) -> torch.Tensor:
    """Two elements from -8 to 7 in a byte, the even column low, 8 added.

    >>> pack_nibbles(torch.tensor([[-8, 7, 1]], dtype=torch.int8)).tolist()
    [[240, 137]]
    """
    if elements.shape[1] % 2:
        elements = torch.nn.functional.pad(elements, (0, 1))
    shifted = (elements + 8).to(torch.uint8)
    return shifted[:, ::2] | shifted[:, 1::2] << 4


def bias(translation: Translation, node: fx.Node, given: Any, source: Tensor) -> Tensor | None:
    """The bias of a layer: float32, or 32-bit integers where input and weight are integers.

    Integers are rounded as `quantized_decomposed.quantize_per_channel` and `_per_tensor` do it.

    Args:
        translation: the subgraph.
        node: the layer.
        given: its bias, a constant, or None.
        source: its input as it goes in.
    """
    if given is None:
        return None
    value = translation.value(given).reshape(-1)
    if not isinstance(source.quantization, PerTensor):
        keeps_half = source.quantization is None and value.dtype is torch.float16
        return translation.constant(value if keeps_half else value.float())
    weight = translation.plan.weights[node.args[1]]  # type: ignore[index]
    step = source.quantization.scale
    if isinstance(weight.quantization, PerChannel):
        scales = weight.quantization.scales * step
        integers = torch.round(value.float() * (1.0 / scales))
        return Tensor(tuple(value.shape), Datatype.QCINT32, PerChannel(scales, 0), _int32(integers))
    assert isinstance(weight.quantization, PerTensor)
    scale = weight.quantization.scale * step
    integers = torch.round(value.float() * (1.0 / scale))
    return Tensor(tuple(value.shape), Datatype.QINT32, PerTensor(scale, 0), _int32(integers))


def _int32(values: torch.Tensor) -> torch.Tensor:
    """Whole numbers as int32, the nearest there is."""
    return values.double().clamp(-(2.0**31), 2.0**31 - 1).to(torch.int32)
