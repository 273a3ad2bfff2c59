"""From a configuration to a program."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from etlab.errors import InvalidArgumentError
from etlab.llm.cache import RingCache
from etlab.llm.checkpoints.open import open_checkpoint
from etlab.llm.export_llm.config import LlmConfig
from etlab.llm.export_llm.model import make_model
from etlab.llm.export_llm.reading import read_config
from etlab.llm.export_llm.result import LlmExport
from etlab.llm.transformer import Options, Transformer


def export_llm(config: Any, overrides: Iterable[str] = ()) -> LlmExport:
    """Export a language model to a program file.

        export_llm("llama.yaml", ["export.max_context_length=2048"])

    The program's method is `forward(tokens, input_pos) -> logits`, with (1, length) and (1) int64
    inputs, the cache of keys and values as state, and constant methods with ExecuTorch's names
    (`get_max_seq_len`, `get_eos_ids` …).

    Args:
        config: an `LlmConfig`, a mapping of its sections, or the path of a YAML file; keys are
            ExecuTorch's.
        overrides: `section.key=value`, over what `config` says.

    Returns:
        Where the program is, and every stage of its way.

    Raises:
        NotFoundError: an unknown key, or a file or tokenizer that is not there.
        InvalidArgumentError: a value, or a tensor of the checkpoint, that does not fit.
        NotSupportedError: a key of a feature that is not built here.
    """
    chosen = read_config(config, overrides)
    extra = _metadata(chosen)
    checkpoint = open_checkpoint(chosen.base)
    model = make_model(chosen, checkpoint)
    return _lower(chosen, model, _constant_methods(chosen, model) | extra)


def _metadata(config: LlmConfig) -> dict[str, Any]:
    text = config.base.metadata
    if text is None:
        return {}
    try:
        loaded = json.loads(text)
        loaded = json.loads(loaded) if isinstance(loaded, str) else loaded
    except ValueError as error:
        raise InvalidArgumentError(f"base.metadata: expected JSON, got {text!r}: {error}") from None
    if not isinstance(loaded, dict):
        raise InvalidArgumentError(f"base.metadata: expected names and values, got {text!r}")
    return loaded


def _constant_methods(config: LlmConfig, model: Transformer) -> dict[str, Any]:
    architecture = model.architecture
    methods: dict[str, Any] = {
        "get_max_seq_len": config.export.max_seq_length,
        "get_max_context_len": config.export.max_context_length,
        "get_n_layers": architecture.layers,
        "get_vocab_size": architecture.vocabulary,
        "use_kv_cache": config.model.use_kv_cache,
        "use_sdpa_with_kv_cache": config.model.use_sdpa_with_kv_cache,
        "enable_dynamic_shape": config.model.enable_dynamic_shape,
    }
    if any(isinstance(module, RingCache) for module in model.modules()):
        methods["has_ring_cache"] = True  # the runner must not step back in it
    if architecture.first_token is not None:
        methods["get_bos_id"] = architecture.first_token
    if architecture.end_tokens:
        methods["get_eos_ids"] = list(architecture.end_tokens)
    return methods


def _example(options: Options) -> tuple[tuple[torch.Tensor, ...], Any]:
    """Inputs and dynamic shapes of the export."""
    dynamic = torch.export.Dim("tokens", min=1, max=options.longest_call)
    if not options.is_dynamic or options.longest_call == 1:
        length, shapes = (1 if options.has_cache else options.longest_call), None
    else:
        length, shapes = min(3, options.longest_call), {1: dynamic}
    tokens = torch.ones(1, length, dtype=torch.int64)
    if not options.has_cache:
        return (tokens,), None if shapes is None else {"tokens": shapes}
    by_name = None if shapes is None else {"tokens": shapes, "input_pos": None}
    return (tokens, torch.zeros(1, dtype=torch.int64)), by_name


def _lower(config: LlmConfig, model: Transformer, constant_methods: dict[str, Any]) -> LlmExport:
    from etlab.choices import as_partitioners
    from etlab.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from etlab.exporting import export_module
    from etlab.run import ExportRun

    inputs, shapes = _example(model.options)
    exported = export_module(model, inputs, shapes)
    partitioners = _partitioners(config)
    delegated = to_edge_transform_and_lower(
        exported,
        partitioner=as_partitioners(partitioners) or None,
        constant_methods=constant_methods,
        generate_etrecord=config.debug.generate_etrecord,
    )
    is_extended = config.quantization.qmode == "gguf"
    program = delegated.to_executorch(ExecutorchBackendConfig(extended_operators=is_extended))
    path = Path(config.export.output_dir) / (
        config.export.output_name or f"{config.base.model_class}.pte"
    )
    program.save(path)
    if config.debug.generate_etrecord:
        program.get_etrecord().save(path.with_name("etrecord.bin"))
    run = ExportRun(
        name=path.stem,
        model=model,
        exported=exported,
        quantized=None,
        delegated=delegated,
        program=program,
        example_inputs=inputs,
        calibration=(inputs,),
        partitioner=" + ".join(partitioners) or "none",
        quantizer=config.quantization.qmode or "none",
        seconds={},
        notes=(),
    )
    model.make_state()  # the module's own: what the program was made of stays as it is
    if config.debug.verbose:
        print(run.delegation())
    return LlmExport(path, config, model.architecture, run)


def _partitioners(config: LlmConfig) -> list[str]:
    if not config.backend.xnnpack.enabled:
        return []
    if not config.backend.xnnpack.extended_ops:
        return ["xnnpack-dynamic"]
    return [f"xnnpack:enable_bf16={config.backend.xnnpack.enable_bf16}"]
