"""What moves elements."""

from collections.abc import Sequence
from typing import Any

import torch

from etlab.backends.arm.arithmetic.elementwise import Rule
from etlab.backends.arm.format.schema import TensorEntry


def _same(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    x: torch.Tensor = inputs[0]
    return x


def _reshape(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    x: torch.Tensor = inputs[0]
    return x.reshape(inputs[1])


def _transpose(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    x: torch.Tensor = inputs[0]
    return x.permute(attributes.perms)


def _concat(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    return torch.cat(list(inputs), attributes.axis)


def _slice(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    x: torch.Tensor = inputs[0]
    for dim, (begin, size) in enumerate(zip(inputs[1], inputs[2], strict=True)):
        x = x.narrow(dim, begin, size)
    return x


def _pad(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    x, amounts, value = inputs
    pairs = [amounts[place : place + 2] for place in range(0, len(amounts), 2)]
    flat = [amount for pair in reversed(pairs) for amount in pair]
    return torch.nn.functional.pad(x, flat, value=int(value))


def _tile(attributes: Any, inputs: Sequence[Any], entry: TensorEntry) -> torch.Tensor:
    x: torch.Tensor = inputs[0]
    return x.repeat(inputs[1])


RULES: dict[str, Rule] = {
    "IDENTITY": _same,
    "RESHAPE": _reshape,
    "TRANSPOSE": _transpose,
    "CONCAT": _concat,
    "SLICE": _slice,
    "PAD": _pad,
    "TILE": _tile,
}
