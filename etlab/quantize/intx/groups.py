"""Groups that do not divide a layer's width: zero columns fill the last one.

The weight gets columns of zeros and the input zeros to go with them; an embedding's rows lose
theirs again. Results are those of a last group that is shorter than the others.
"""

import functools
from typing import Any

import torch
from torch import nn

from etlab.quantize.base import quiet_imports


def widen(module: nn.Module, group_size: int) -> None:
    """Fill the last group of a linear layer or an embedding, in place; others stay as they are."""
    weight = getattr(module, "weight", None)
    if not isinstance(module, nn.Linear | nn.Embedding) or not isinstance(weight, torch.Tensor):
        return
    width = weight.shape[1]
    missing = -width % group_size
    if not missing:
        return
    wide = nn.functional.pad(weight.detach(), (0, missing))
    module.weight = nn.Parameter(wide, requires_grad=weight.requires_grad)
    if isinstance(module, nn.Linear):
        module.in_features = width + missing
        module.register_forward_pre_hook(
            lambda _, inputs: (nn.functional.pad(inputs[0], (0, missing)), *inputs[1:])
        )
    else:
        module.embedding_dim = width + missing
        module.register_forward_hook(lambda _, inputs, rows: rows[..., :width])


@functools.cache
def teach_torchao() -> None:
    """Let torchao's own `quantize_` take such layers, which it refuses with an assertion.

    For the two configurations that ExecuTorch uses; what it takes already stays as it is.
    """
    with quiet_imports():
        from torchao.quantization import IntxWeightOnlyConfig
        from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig

    _teach(Int8DynamicActivationIntxWeightConfig, "weight_granularity")
    _teach(IntxWeightOnlyConfig, "granularity")


def _teach(kind: type, granularity_name: str) -> None:
    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.transform_module import (
        _QUANTIZE_CONFIG_HANDLER,
        register_quantize_module_handler,
    )

    original = _QUANTIZE_CONFIG_HANDLER[kind]

    def handler(module: nn.Module, config: Any, **options: Any) -> nn.Module:
        granularity = getattr(config, granularity_name)
        if (
            isinstance(granularity, PerGroup)
            and options.get("parameter_name", "weight") == "weight"
        ):
            widen(module, granularity.group_size)
        quantized: nn.Module = original(module, config, **options)
        return quantized

    del _QUANTIZE_CONFIG_HANDLER[kind]
    register_quantize_module_handler(kind)(handler)
