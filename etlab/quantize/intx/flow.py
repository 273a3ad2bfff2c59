"""From a module to an exported program with weights of few bits."""

import copy
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram

from etlab.errors import InvalidArgumentError
from etlab.exir.recurrent import recurrent_layers_whole
from etlab.quantize.base import QuantizeRequest, quiet_imports
from etlab.quantize.intx.embedding import quantize_embedding
from etlab.quantize.intx.groups import widen

with quiet_imports():
    from torchao.quantization import IntxWeightOnlyConfig, quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig
    from torchao.quantization.quantize_.workflows import IntxChooseQParamsAlgorithm

_ALGORITHMS = {
    "affine": IntxChooseQParamsAlgorithm.AFFINE,
    "hqq": IntxChooseQParamsAlgorithm.HQQ_SCALE_ONLY,
}


@dataclass(frozen=True, slots=True)
class Scheme:
    """What becomes of linear layers and embeddings.

    Attributes:
        bits: of linear weights; None keeps linear layers in float.
        group_size: columns that share a scale; None: a scale for every output channel.
        scales: how scales are found: "affine" or "hqq".
        is_dynamic: rows of activations are quantized to 8 bits at run time.
        embedding_bits: of embedding tables: 2, 4 or 8; None keeps them in float.
        embedding_group_size: columns of a table that share a scale; None: one for a row.
        keep_float: names of modules that stay in float, with what is in them.
    """

    bits: int | None
    group_size: int | None
    scales: str = "affine"
    is_dynamic: bool = False
    embedding_bits: int | None = None
    embedding_group_size: int | None = None
    keep_float: Collection[str] = ()

    def __post_init__(self) -> None:
        """Refuse what nobody could compute."""
        if self.scales not in _ALGORITHMS:
            raise InvalidArgumentError(
                f"scales: expected one of {', '.join(_ALGORITHMS)}, got {self.scales!r}"
            )
        if self.embedding_bits not in (None, 2, 4, 8):
            raise InvalidArgumentError(
                f"embedding_bits: expected 2, 4, 8 or None, got {self.embedding_bits!r}"
            )
        for name in ("group_size", "embedding_group_size"):
            size = getattr(self, name)
            if size is not None and (not isinstance(size, int) or size < 1):
                raise InvalidArgumentError(
                    f"{name}: expected a number of columns, or None for all of them, got {size!r}"
                )


def quantize_module(model: nn.Module, scheme: Scheme) -> nn.Module:
    """Quantize a module in place, and return it."""

    def is_chosen(kind: type, module: nn.Module, name: str) -> bool:
        around = any(name == one or name.startswith(f"{one}.") for one in scheme.keep_float)
        weight = getattr(module, "weight", None)
        is_float = isinstance(weight, torch.Tensor) and weight.is_floating_point()
        return isinstance(module, kind) and is_float and not around

    if scheme.embedding_bits is not None:
        _quantize_embeddings(model, scheme, is_chosen)
    if scheme.bits is not None:
        if scheme.group_size is not None:
            for name, module in model.named_modules():
                if is_chosen(nn.Linear, module, name):
                    widen(module, scheme.group_size)
        quantize_(
            model,
            _linear_config(scheme, scheme.bits),
            lambda module, name: is_chosen(nn.Linear, module, name),
        )
    return model


def _quantize_embeddings(
    model: nn.Module, scheme: Scheme, is_chosen: Callable[[type, nn.Module, str], bool]
) -> None:
    bits, group_size = scheme.embedding_bits, scheme.embedding_group_size
    assert bits is not None
    config = IntxWeightOnlyConfig(
        weight_dtype=_integer(bits),
        granularity=_granularity(group_size),
        intx_choose_qparams_algorithm=_ALGORITHMS[scheme.scales],
    )
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Embedding) and is_chosen(nn.Embedding, module, name):
            quantized = quantize_embedding(module, config, bits, group_size)
            parent, _, own = name.rpartition(".")
            model.get_submodule(parent).register_module(own, quantized)


def _linear_config(scheme: Scheme, bits: int) -> Any:
    options = {
        "weight_dtype": _integer(bits),
        "intx_choose_qparams_algorithm": _ALGORITHMS[scheme.scales],
    }
    granularity = _granularity(scheme.group_size)
    if scheme.is_dynamic:
        return Int8DynamicActivationIntxWeightConfig(weight_granularity=granularity, **options)
    return IntxWeightOnlyConfig(granularity=granularity, **options)


def _integer(bits: int) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, f"int{bits}")
    return dtype


def _granularity(group_size: int | None) -> PerAxis | PerGroup:
    return PerAxis(0) if group_size is None else PerGroup(group_size)


def quantize(request: QuantizeRequest, scheme: Scheme) -> ExportedProgram:
    """A quantized copy of the user's model, exported."""
    model = quantize_module(copy.deepcopy(request.model), scheme)
    with recurrent_layers_whole():
        return torch.export.export(
            model,
            request.example_inputs,
            dynamic_shapes=request.dynamic_shapes,
            strict=False,
        )
