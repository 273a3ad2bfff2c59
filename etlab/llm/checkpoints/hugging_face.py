"""Hugging Face folders: safetensors files beside a config.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etlab.errors import InvalidArgumentError, NotFoundError, NotSupportedError
from etlab.llm.architecture import (
    Architecture,
    LinearScaling,
    Llama3Scaling,
    LongScaling,
    Rotary,
)
from etlab.llm.checkpoints.checkpoint import Checkpoint
from etlab.llm.json_files import read_json, read_json_if_there

# Families by `model_type`, and whether queries, keys and values have a bias where nothing is said.
_INPUT_BIAS = {"llama": False, "qwen2": True, "qwen3": False, "phi3": False}
_ACTIVATIONS = {"silu": "silu", "gelu": "gelu", "gelu_pytorch_tanh": "gelu_tanh"}


def open_hugging_face(path: Path, config_path: Path | None = None) -> Checkpoint:
    """A checkpoint in a folder, or in one .safetensors file of it.

    Args:
        path: the folder or file.
        config_path: its config.json, if that lies elsewhere.

    Raises:
        NotFoundError: there is no config.json, or no safetensors file.
        NotSupportedError: the family, or a key of it, is not built here.
    """
    folder = path if path.is_dir() else path.parent
    config = read_json(config_path or folder / "config.json", "the model's configuration")
    files = _files(path)
    homes = {name: file for file in files for name in file.keys()}  # noqa: SIM118  a method
    tied = bool(config.get("tie_word_embeddings", "lm_head.weight" not in homes))
    ignored = {name for name in homes if name.endswith("rotary_emb.inv_freq")}
    return Checkpoint(
        path=path,
        form="hugging_face",
        family=str(config.get("model_type")),
        architecture=_architecture(config, _end_tokens(config, folder), is_tied=tied),
        names=homes.keys(),
        read=lambda name: homes[name].get_tensor(name),
        ignored=ignored | ({"lm_head.weight"} if tied else set()),
    )


def _files(path: Path) -> list[Any]:
    from safetensors import SafetensorError, safe_open

    paths = sorted(path.glob("*.safetensors")) if path.is_dir() else [path]
    if not paths:
        raise NotFoundError(f"'{path}': there is no .safetensors file")
    opened = []
    for one in paths:
        try:
            opened.append(safe_open(one, framework="pt"))
        except (SafetensorError, OSError) as error:
            raise InvalidArgumentError(f"'{one}' is no safetensors file: {error}") from error
    return opened


def _end_tokens(config: Mapping[str, Any], folder: Path) -> tuple[int, ...]:
    """Those of the generation's configuration, which knows the end of a turn, or the model's."""
    generation = read_json_if_there(folder / "generation_config.json", "the generation's settings")
    said = generation.get("eos_token_id")
    found = config.get("eos_token_id") if said is None else said
    if found is None:
        return ()
    return tuple(int(one) for one in (found if isinstance(found, list) else [found]))


def _architecture(
    config: Mapping[str, Any], end_tokens: tuple[int, ...], *, is_tied: bool
) -> Architecture:
    family = config.get("model_type")
    if family not in _INPUT_BIAS:
        raise NotSupportedError(
            f"config.json: model_type is {family!r}, expected one of {', '.join(_INPUT_BIAS)}"
        )
    for name in ("mlp_bias", "quantization_config"):
        if config.get(name):
            raise NotSupportedError(f"config.json: {name} is not supported by etlab's decoder")

    def need(name: str) -> Any:
        if config.get(name) is None:
            raise NotFoundError(f"config.json: no '{name}'")
        return config[name]

    width, heads = int(need("hidden_size")), int(need("num_attention_heads"))
    activation = config.get("hidden_act", "silu")
    if activation not in _ACTIVATIONS:
        raise NotSupportedError(
            f"config.json: hidden_act is {activation!r}, expected one of {', '.join(_ACTIVATIONS)}"
        )
    head_width = int(config.get("head_dim") or width // heads)
    bias = bool(config.get("attention_bias", _INPUT_BIAS[str(family)]))
    chosen: Any = _ACTIVATIONS[activation]
    return Architecture(
        width=width,
        layers=int(need("num_hidden_layers")),
        heads=heads,
        key_heads=int(config.get("num_key_value_heads") or heads),
        head_width=head_width,
        hidden=int(need("intermediate_size")),
        vocabulary=int(need("vocab_size")),
        rotary=_rotary(config, head_width),
        context=int(config.get("max_position_embeddings", 2048)),
        epsilon=float(config.get("rms_norm_eps", 1e-6)),
        has_query_key_norm=family == "qwen3",
        has_input_bias=bias,
        has_output_bias=bias and family != "qwen2",
        is_tied=is_tied,
        activation=chosen,
        window=_window(config),
        first_token=config.get("bos_token_id"),
        end_tokens=end_tokens,
    )


def _window(config: Mapping[str, Any]) -> int | None:
    """Tokens that layers see; Qwen's files name a window that they do not use."""
    if config.get("use_sliding_window") is False or config.get("sliding_window") is None:
        return None
    return int(config["sliding_window"])


def _rotary(config: Mapping[str, Any], head_width: int) -> Rotary:
    # Newer files have everything in rope_parameters, older ones in rope_scaling and beside it.
    said = config.get("rope_parameters") or config.get("rope_scaling") or {}

    def find(name: str, default: Any = None) -> Any:
        found = said.get(name)
        return config.get(name, default) if found is None else found

    context = int(config.get("max_position_embeddings", 2048))
    kind = said.get("rope_type", said.get("type", "default"))
    scaling: Llama3Scaling | LinearScaling | LongScaling | None = None
    if kind == "llama3":
        scaling = Llama3Scaling(
            factor=float(said["factor"]),
            low=float(said["low_freq_factor"]),
            high=float(said["high_freq_factor"]),
            original_context=int(said["original_max_position_embeddings"]),
        )
    elif kind == "linear":
        scaling = LinearScaling(float(said["factor"]))
    elif kind == "longrope":
        scaling = LongScaling(
            short=tuple(said["short_factor"]),
            long=tuple(said["long_factor"]),
            original_context=int(find("original_max_position_embeddings", context)),
            longest=context,
            attention=said.get("attention_factor"),
        )
    elif kind != "default":
        raise NotSupportedError(
            f"config.json: rope type {kind!r}: expected default, linear, llama3 or longrope"
        )
    width = int(head_width * find("partial_rotary_factor", 1.0))
    return Rotary(float(find("rope_theta", 10000.0)), width, scaling)
