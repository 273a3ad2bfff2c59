"""Consolidated .pth files beside a params.json, the form of Meta and of ExecuTorch's converters."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from etlab.errors import AccessError, InvalidArgumentError, NotFoundError, NotSupportedError
from etlab.llm.architecture import Architecture, Llama3Scaling, LongScaling, Rotary
from etlab.llm.checkpoints.checkpoint import Checkpoint

_NEEDED = ("dim", "n_layers", "n_heads")
_READ = {
    *_NEEDED,
    "n_kv_heads", "vocab_size", "hidden_dim", "head_dim", "multiple_of", "ffn_dim_multiplier",
    "norm_eps", "rope_theta", "rope_freq_base", "use_scaled_rope", "rope_scale_factor",
    "high_freq_factor", "use_hf_rope", "attention_qkv_bias", "use_qk_norm", "qk_norm_before_rope",
    "partial_rotary_factor", "act_fn", "bos_idx", "eos_idx", "sliding_window",
    "rope_scaling_short_factor", "rope_scaling_long_factor", "rope_scaling_attention_factor",
    "original_max_position_embeddings", "max_position_embeddings", "model_architecture",
    "max_seq_len", "max_context_len", "max_batch_size", "bos_count", "eos_count",
}  # fmt: skip
_ACTIVATIONS = {"silu": "silu", "gelu": "gelu", "gelu_approx": "gelu_tanh"}


def open_consolidated(path: Path, params: Mapping[str, Any]) -> Checkpoint:
    """A checkpoint in a .pth file (or .pt, .bin).

    Args:
        path: the file.
        params: what its params.json says.

    Raises:
        AccessError: it cannot be read.
        InvalidArgumentError: it holds something else than tensors.
    """
    try:
        state = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
    except OSError as error:
        raise AccessError(f"cannot read the checkpoint '{path}': {error}") from error
    except Exception as error:
        raise InvalidArgumentError(f"'{path}' is no checkpoint of tensors: {error}") from error
    if isinstance(state, dict) and isinstance(state.get("model"), dict):
        state = state["model"]
    if not isinstance(state, dict) or not all(
        isinstance(one, torch.Tensor) for one in state.values()
    ):
        raise InvalidArgumentError(f"'{path}': expected tensors by name")
    if "tok_embeddings.weight" not in state:
        raise InvalidArgumentError(f"{path}: no tensor 'tok_embeddings.weight'")
    return Checkpoint(
        path=path,
        form="meta",
        architecture=architecture_of(
            params,
            vocabulary=state["tok_embeddings.weight"].shape[0],
            is_tied="output.weight" not in state,
        ),
        names=state.keys(),
        read=state.__getitem__,
        turns_neighbours=not params.get("use_hf_rope", False),
        ignored=("rope.freqs",),
    )


def architecture_of(
    params: Mapping[str, Any], *, vocabulary: int | None = None, is_tied: bool = False
) -> Architecture:
    """What a params.json describes.

    Args:
        params: its names and values.
        vocabulary: number of tokens where the file does not say it, or says -1.
        is_tied: the output layer is the embedding.

    Raises:
        NotFoundError: a key is missing.
        NotSupportedError: a key of something that is not built here.
    """
    for name in _NEEDED:
        if name not in params:
            raise NotFoundError(f"params: no '{name}'")
    unknown = sorted(name for name, value in params.items() if name not in _READ and value)
    if unknown:
        raise NotSupportedError(f"params: {', '.join(unknown)}: not supported by etlab's decoder")
    if params.get("use_qk_norm") and not params.get("qk_norm_before_rope"):
        raise NotSupportedError(
            "params: use_qk_norm: set qk_norm_before_rope; the other order is not built here"
        )
    width, heads = int(params["dim"]), int(params["n_heads"])
    head_width = int(params.get("head_dim") or width // heads)
    said = int(params.get("vocab_size") or -1)
    count = said if said > 0 else vocabulary
    if count is None:
        raise NotFoundError("params: no 'vocab_size', and no checkpoint that has one")
    return Architecture(
        width=width,
        layers=int(params["n_layers"]),
        heads=heads,
        key_heads=int(params.get("n_kv_heads") or heads),
        head_width=head_width,
        hidden=_hidden(params, width),
        vocabulary=count,
        rotary=_rotary(params, head_width),
        context=int(params.get("max_position_embeddings") or 2048),
        epsilon=float(params.get("norm_eps", 1e-5)),
        has_query_key_norm=bool(params.get("use_qk_norm", False)),
        has_input_bias=bool(params.get("attention_qkv_bias", False)),
        is_tied=is_tied,
        activation=_activation(params),
        window=params.get("sliding_window"),
        first_token=params.get("bos_idx"),
        end_tokens=() if params.get("eos_idx") is None else (int(params["eos_idx"]),),
    )


def _activation(params: Mapping[str, Any]) -> Any:
    name = params.get("act_fn", "silu")
    if name not in _ACTIVATIONS:
        raise NotSupportedError(
            f"params: act_fn={name!r}: expected one of {', '.join(_ACTIVATIONS)}"
        )
    return _ACTIVATIONS[name]


def _hidden(params: Mapping[str, Any], width: int) -> int:
    """Columns of the feed-forward: said, or Meta's two thirds of four widths, rounded up."""
    if params.get("hidden_dim"):
        return int(params["hidden_dim"])
    hidden = int(2 * 4 * width / 3)
    if params.get("ffn_dim_multiplier") is not None:
        hidden = int(params["ffn_dim_multiplier"] * hidden)
    multiple = int(params.get("multiple_of", 256))
    return -(-hidden // multiple) * multiple


def _rotary(params: Mapping[str, Any], head_width: int) -> Rotary:
    base = params.get("rope_theta") or params.get("rope_freq_base") or 10000.0
    width = int(head_width * params.get("partial_rotary_factor", 1.0))
    scaling: Llama3Scaling | LongScaling | None = None
    if params.get("use_scaled_rope"):
        scaling = Llama3Scaling(
            factor=float(params.get("rope_scale_factor", 8)),
            high=float(params.get("high_freq_factor", 4)),
        )
    elif params.get("rope_scaling_short_factor"):
        scaling = LongScaling(
            short=tuple(params["rope_scaling_short_factor"]),
            long=tuple(params["rope_scaling_long_factor"]),
            original_context=int(params["original_max_position_embeddings"]),
            longest=int(params["max_position_embeddings"]),
            attention=params.get("rope_scaling_attention_factor"),
        )
    return Rotary(float(base), width, scaling)
