"""Groups that do not divide a layer's width: zero columns fill the last one.

torchao refuses such layers with an assertion. Importing this module teaches its `quantize_` to
widen them, for the two configurations that ExecuTorch uses: the weight gets columns of zeros, the
input zeros to go with them, and an embedding's rows lose theirs again. Results are those of a last
group that is shorter than the others.
"""

from typing import Any

import torch
from torch import nn

from etlab.quantize.base import quiet_imports

with quiet_imports():
    from torchao.quantization import IntxWeightOnlyConfig
    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig
    from torchao.quantization.transform_module import (
        _QUANTIZE_CONFIG_HANDLER,
        register_quantize_module_handler,
    )


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


def _teach(kind: type, granularity_name: str) -> None:
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


_teach(Int8DynamicActivationIntxWeightConfig, "weight_granularity")
_teach(IntxWeightOnlyConfig, "granularity")
