"""From a configuration to a module with weights."""

import torch

from etlab.llm.cache import Reach
from etlab.llm.checkpoints.checkpoint import Checkpoint
from etlab.llm.export_llm.config import LlmConfig
from etlab.llm.export_llm.quantization import quantize_model
from etlab.llm.export_llm.reading import sink_and_window
from etlab.llm.transformer import Options, Transformer

_DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def make_model(config: LlmConfig, checkpoint: Checkpoint) -> Transformer:
    """The model that is exported: quantized where the configuration says so.

    Raises:
        InvalidArgumentError: a tensor of the checkpoint does not fit.
    """
    options = _options(config)
    with torch.device("meta"):
        model = Transformer(checkpoint.architecture, options)
    with torch.no_grad():
        checkpoint.fill(model, options.dtype)
        quantize_model(config, model, checkpoint)
    model.make_state()
    return model.eval().requires_grad_(False)


def _options(config: LlmConfig) -> Options:
    model, export = config.model, config.export
    return Options(
        longest_call=export.max_seq_length,
        context=export.max_context_length,
        has_cache=model.use_kv_cache,
        is_fused=model.use_sdpa_with_kv_cache,
        is_integer=model.quantize_kv_cache,
        reaches=_reaches(config),
        is_dynamic=model.enable_dynamic_shape,
        has_full_logits=config.debug.generate_full_logits,
        dtype=_DTYPES[model.dtype_override],
    )


def _reaches(config: LlmConfig) -> tuple[Reach, ...]:
    if config.model.use_attention_sink:
        sink, window = sink_and_window(config)
        return (Reach(window, sink),)
    return tuple(Reach(window or None) for window in config.model.local_global_attention or ())
