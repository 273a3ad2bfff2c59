"""What `quantization` of a configuration does to a model."""

import warnings
from typing import Any

from torch import nn

from etlab.llm.checkpoints.checkpoint import Checkpoint
from etlab.llm.export_llm.config import LlmConfig
from etlab.llm.export_llm.reading import embedding_bits_and_group

# Bits of weights, whether activations are quantized at run time, and columns that share a scale.
_MODES: dict[str, tuple[int, bool, int]] = {
    "8da4w": (4, True, 128),
    "8da8w": (8, True, 128),
    "4w": (4, False, 256),
    "int8": (8, False, 0),
}


def quantize_model(config: LlmConfig, model: nn.Module, checkpoint: Checkpoint) -> None:
    """Quantize linear layers and the embedding in place, by torchao.

    The output layer of a tied model is quantized as a linear layer, and no longer tied. With "gguf"
    the blocks of the checkpoint come back.

    Warns:
        UserWarning: groups do not divide the columns of some layers: zeros fill them up.
    """
    chosen = config.quantization
    if chosen.qmode is None and chosen.embedding_quantize is None:
        return
    if chosen.qmode == "gguf":
        from etlab.llm.checkpoints.keep_blocks import keep_blocks

        keep_blocks(model, checkpoint)
        return
    from etlab.quantize.intx.flow import Scheme, quantize_module

    bits, is_dynamic, size = None, False, None
    if chosen.qmode is not None:
        bits, is_dynamic, default = _MODES[chosen.qmode]
        size = (default if chosen.group_size is None else chosen.group_size) or None
        _warn_of_parts(model, size)
    embedding_bits, embedding_size = None, None
    if chosen.embedding_quantize is not None:
        embedding_bits, group = embedding_bits_and_group(config)
        embedding_size = group or None
    scheme = Scheme(
        bits=bits,
        group_size=size,
        scales="hqq" if chosen.use_hqq else "affine",
        is_dynamic=is_dynamic,
        embedding_bits=embedding_bits,
        embedding_group_size=embedding_size,
    )
    quantize_module(model, scheme)
    if bits == 4 and size is not None and config.backend.xnnpack.enabled:
        _round_scales(model)


def _round_scales(model: nn.Module) -> None:
    """Give 4-bit layers the scales that XNNPACK's files hold, bfloat16.

    The program is the same without; but the module in eager is then what the program computes.
    """
    for module in model.modules():
        weight: Any = getattr(module, "weight", None)
        if isinstance(module, nn.Linear) and hasattr(weight, "qdata"):
            weight.scale = weight.scale.bfloat16().to(weight.scale.dtype)


def _warn_of_parts(model: nn.Module, size: int | None) -> None:
    if size is None:
        return
    widths = {one.in_features for one in model.modules() if isinstance(one, nn.Linear)}
    odd = sorted(width for width in widths if width % size)
    if odd:
        fitting = [one for one in (128, 64, 32) if one < size and not any(w % one for w in odd)]
        advice = f"; quantization.group_size={fitting[0]} divides them" if fitting else ""
        warnings.warn(
            f"quantization: groups of {size} do not divide layers with {odd} columns, which zeros"
            f" fill up at every call{advice}",
            stacklevel=3,
        )
