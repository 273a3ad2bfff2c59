"""A model whose layers get weights of few bits one by one."""

import copy
import dataclasses
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from etlab.quantize.base import QuantizeRequest
from etlab.quantize.intx.flow import Scheme, quantize_module


@dataclass(frozen=True, slots=True)
class SwitchedWeights:
    """The user's model, copied with some of its layers quantized.

    Attributes:
        model: the user's.
        scheme: what becomes of the layers.
        layers: names of the modules that it changes, and how many elements their weights have.
    """

    model: nn.Module
    scheme: Scheme
    layers: dict[str, int]

    @contextmanager
    def quantized(self, layers: Collection[str], *, others: bool) -> Iterator[Callable[..., Any]]:
        """The model with these layers quantized; there is nothing else to quantize."""
        kept = [name for name in self.layers if name not in set(layers)]
        scheme = _with_kept(self.scheme, kept)
        with torch.no_grad():
            yield quantize_module(copy.deepcopy(self.model), scheme)


def switched_weights(request: QuantizeRequest, scheme: Scheme) -> SwitchedWeights:
    """Layers that a scheme changes."""
    has_tables = scheme.embedding_bits is not None
    layers = {
        name: module.weight.numel()
        for name, module in request.model.named_modules()
        if isinstance(module, nn.Linear) or (has_tables and isinstance(module, nn.Embedding))
    }
    return SwitchedWeights(request.model, scheme, layers)


def _with_kept(scheme: Scheme, kept: list[str]) -> Scheme:
    return dataclasses.replace(scheme, keep_float=[*scheme.keep_float, *kept])
