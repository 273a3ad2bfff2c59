"""The configuration of `export_llm`: ExecuTorch's sections, keys and defaults.

A key whose feature is not built here stands with its default, and any other value is refused by
name: nothing is ignored.
"""

import functools
from dataclasses import dataclass, field, fields
from typing import Any, Literal

ModelClass = Literal[
    "stories110m",
    "llama2",
    "llama3",
    "llama3_1",
    "llama3_2",
    "qwen2_5_0_5b",
    "qwen2_5_1_5b",
    "qwen2_5_coder_32b",
    "qwen3_0_6b",
    "qwen3_1_7b",
    "qwen3_4b",
    "phi_3_5_mini",
    "phi_4_mini",
    "smollm2",
]


@dataclass(kw_only=True)
class BaseConfig:
    """Which model, and where its weights lie.

    Attributes:
        model_class: the family; what a checkpoint says of itself must not contradict it.
        params: a JSON file: `params.json` of a consolidated checkpoint, `config.json` of others.
        checkpoint: a consolidated `.pth`, a `.gguf`, a `.safetensors`, or a Hugging Face folder.
            Without one, Llama models get random weights (`params` must then say their sizes), and
            others are fetched from Hugging Face.
        tokenizer_path: the tokenizer's file, which is checked to be there.
        metadata: JSON of further constant methods, `{"get_bos_id": 1, "get_eos_ids": [2]}`.
    """

    model_class: ModelClass = "llama3"
    params: str | None = None
    checkpoint: str | None = None
    lora_config: Any = None
    tokenizer_path: str | None = None
    metadata: str | None = None
    use_lora: int = 0
    preq_mode: str | None = None
    preq_group_size: int = 32
    preq_embedding_quantize: str = "8,0"


@dataclass(kw_only=True)
class ModelConfig:
    """How the model is run.

    Attributes:
        dtype_override: of weights and cache.
        enable_dynamic_shape: calls of any length; else always one token, or with no cache always
            `max_seq_length` of them.
        use_sdpa_with_kv_cache: attention is the operator `llama::custom_sdpa`.
        expand_rope_table: accepted; the tables of angles are as wide as a head in any case.
        use_attention_sink: "sink,window": the first `sink` tokens and the last `window` are seen.
        use_kv_cache: keep keys and values of earlier calls.
        quantize_kv_cache: keep them as 8-bit integers with a scale a token and head.
        local_global_attention: tokens that each layer sees of the past, 0 for all; repeated over
            the layers.
    """

    dtype_override: Literal["fp32", "fp16", "bf16"] = "fp32"
    enable_dynamic_shape: bool = True
    use_shared_embedding: bool = False
    use_sdpa_with_kv_cache: bool = False
    expand_rope_table: bool = False
    use_attention_sink: str | None = None
    output_prune_map: str | None = None
    input_prune_map: str | None = None
    use_kv_cache: bool = False
    quantize_kv_cache: bool = False
    static_quantize_kv_cache: bool = False
    static_quantize_kv_cache_scale: float = 1.0 / 127.0
    local_global_attention: list[int] | None = None
    use_moe_quantized_op: bool = False


@dataclass(kw_only=True)
class ExportConfig:
    """Lengths, and where the program goes.

    Attributes:
        max_seq_length: most tokens of one call.
        max_context_length: most tokens of a conversation.
        output_dir: folder of the program.
        output_name: its file name; the model class by default.
    """

    max_seq_length: int = 128
    max_context_length: int = 128
    output_dir: str = "."
    output_name: str | None = None
    so_library: str | None = None
    export_only: bool = False
    foundation_weights_file: str | None = None
    lora_weights_file: str | None = None


@dataclass(kw_only=True)
class DebugConfig:
    """What is kept and said.

    Attributes:
        generate_etrecord: write `etrecord.bin` beside the program.
        generate_full_logits: logits of every token of a call, not of the last one alone.
        verbose: print what happens, and the delegation table.
    """

    profile_memory: bool = False
    profile_path: str | None = None
    generate_etrecord: bool = False
    generate_full_logits: bool = False
    verbose: bool = False


@dataclass(kw_only=True)
class MultimethodConfig:
    """Several methods in one program."""

    methods: list[Any] = field(default_factory=list)
    share_mutable_buffers: bool = False


@dataclass(kw_only=True)
class QuantizationConfig:
    """What becomes of the weights.

    Attributes:
        qmode: "8da4w" and "8da8w" (rows of activations to 8 bits at run time), "int8" and "4w"
            (weights alone), "gguf" (the blocks of a GGUF file as they are; etlab's own).
        embedding_quantize: "bits,group": 2, 4 or 8 bits; group 0 is a scale for a row.
        group_size: columns of a linear weight that share a scale; 0: a scale for a row. By default
            128 for 8da4w and 8da8w, 256 for 4w.
        use_hqq: search scales (half-quadratic) instead of taking the range.
    """

    qmode: str | None = None
    embedding_quantize: str | None = None
    pt2e_quantize: str | None = None
    group_size: int | None = None
    use_spin_quant: str | None = None
    use_qat: bool = False
    quantize_scope: str = "full"
    calibration_tasks: list[str] | None = None
    calibration_limit: int | None = None
    calibration_seq_length: int | None = None
    calibration_data: str = "Once upon a time"
    use_hqq: bool = True


@dataclass(kw_only=True)
class XNNPackConfig:
    """The XNNPACK delegate.

    Attributes:
        enabled: give it the layers that are quantized at run time.
        extended_ops: and all else that it can run.
        enable_bf16: and linear layers in bfloat16.
    """

    enabled: bool = False
    extended_ops: bool = False
    enable_bf16: bool = False


@dataclass(kw_only=True)
class OtherBackend:
    """A backend of another vendor, whose keys are read and which cannot be enabled."""

    enabled: bool = False


@dataclass(kw_only=True)
class TorchAOKernelsConfig:
    """ExecuTorch's torchao kernels, which are for Arm."""

    use_torchao_kernels_linear: bool = False
    use_torchao_kernels_tied_embedding: bool = False


@dataclass(kw_only=True)
class BackendConfig:
    """Which backends take what."""

    xnnpack: XNNPackConfig = field(default_factory=XNNPackConfig)
    coreml: OtherBackend = field(default_factory=OtherBackend)
    vulkan: OtherBackend = field(default_factory=OtherBackend)
    qnn: OtherBackend = field(default_factory=OtherBackend)
    mps: OtherBackend = field(default_factory=OtherBackend)
    openvino: OtherBackend = field(default_factory=OtherBackend)
    torchao: TorchAOKernelsConfig = field(default_factory=TorchAOKernelsConfig)
    tosa: OtherBackend = field(default_factory=OtherBackend)
    ethosu: OtherBackend = field(default_factory=OtherBackend)
    vgf: OtherBackend = field(default_factory=OtherBackend)
    mlx: OtherBackend = field(default_factory=OtherBackend)


@dataclass(kw_only=True)
class LlmConfig:
    """Everything that `export_llm` can be told."""

    base: BaseConfig = field(default_factory=BaseConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    export: ExportConfig = field(default_factory=ExportConfig)
    debug: DebugConfig = field(default_factory=DebugConfig)
    multimethod: MultimethodConfig = field(default_factory=MultimethodConfig)
    quantization: QuantizationConfig = field(default_factory=QuantizationConfig)
    backend: BackendConfig = field(default_factory=BackendConfig)


# Keys of features that are not built here, and what to do instead. Any value but the default is
# refused.
NOT_BUILT = {
    "base.lora_config": "merge the adapter into the checkpoint first",
    "base.use_lora": "merge the adapter into the checkpoint first",
    "base.preq_mode": "export the checkpoint in float, with qmode",
    "base.preq_group_size": "",
    "base.preq_embedding_quantize": "",
    "export.export_only": "",
    "model.use_shared_embedding": "it needs ExecuTorch's torchao kernels, which are for Arm",
    "model.output_prune_map": "",
    "model.input_prune_map": "",
    "model.static_quantize_kv_cache": "use quantize_kv_cache",
    "model.static_quantize_kv_cache_scale": "",
    "model.use_moe_quantized_op": "there are no mixtures of experts here",
    "export.so_library": "etlab.runtime.load_kernels() takes libraries",
    "export.foundation_weights_file": "",
    "export.lora_weights_file": "",
    "debug.profile_memory": "the result's memory_plan() shows the memory",
    "debug.profile_path": "run python -m cProfile",
    "multimethod.methods": "export each to a program of its own",
    "multimethod.share_mutable_buffers": "",
    "quantization.pt2e_quantize": "use qmode, or etlab.export(quantizer=...)",
    "quantization.use_spin_quant": "",
    "quantization.use_qat": "",
    "quantization.quantize_scope": "",
    "quantization.calibration_tasks": "",
    "quantization.calibration_limit": "",
    "quantization.calibration_seq_length": "",
    "quantization.calibration_data": "",
    "backend.torchao.use_torchao_kernels_linear": "",
    "backend.torchao.use_torchao_kernels_tied_embedding": "",
}
NOT_BUILT |= {
    f"backend.{one.name}.enabled": "etlab.list_partitioners() says what there is"
    for one in fields(BackendConfig)
    if one.type is OtherBackend
}


def value_of(config: LlmConfig, key: str) -> Any:
    """The value of a key, as in `base.params`."""
    return functools.reduce(getattr, key.split("."), config)
