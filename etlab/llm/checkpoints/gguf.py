"""GGUF files, the form of llama.cpp."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.llm.architecture import Architecture, LinearScaling, LongScaling, Rotary
from etlab.llm.blocks import Blocks
from etlab.llm.checkpoints.checkpoint import Checkpoint
from etlab.models.gguf import GgufFile

# Architectures by the file's name, and whether their queries and keys turn neighbours.
_NEIGHBOURS = {"llama": True, "qwen2": False, "qwen3": False, "phi3": False}


def open_gguf(path: Path) -> Checkpoint:
    """A checkpoint in a .gguf file.

    Raises:
        InvalidArgumentError: it is damaged or of a family that is not built here.
    """
    file = GgufFile(path)
    family = file.metadata.get("general.architecture")
    if family not in _NEIGHBOURS:
        raise InvalidArgumentError(
            f"{path}: general.architecture is {family!r}, expected one of {', '.join(_NEIGHBOURS)}"
        )
    for name in ("rope_freqs.weight",):
        if name in file.names:
            raise InvalidArgumentError(
                f"{path}: tensor '{name}' holds factors of wavelengths, which are not read from"
                " GGUF files; export from the original checkpoint"
            )
    factors = [name for name in file.names if name.startswith("rope_factors_")]
    return Checkpoint(
        path=path,
        form="gguf",
        family=str(family),
        architecture=_architecture(file, str(family), path),
        names=file.names,
        read=file.tensor,
        blocks=lambda name: Blocks(*file.blocks(name)) if file.form(name)[0] == "Q" else None,
        turns_neighbours=_NEIGHBOURS[str(family)],
        ignored=factors,
    )


class _Metadata:
    """Entries of a family, which must be there."""

    def __init__(self, entries: Mapping[str, Any], family: str, path: Path) -> None:
        self.entries, self.family, self.path = entries, family, path

    def __getitem__(self, key: str) -> Any:
        value = self.get(key)
        if value is None:
            raise NotFoundError(f"{self.path}: no metadata '{self.family}.{key}'")
        return value

    def get(self, key: str, default: Any = None) -> Any:
        return self.entries.get(f"{self.family}.{key}", default)


def _architecture(file: GgufFile, family: str, path: Path) -> Architecture:
    entries = _Metadata(file.metadata, family, path)
    heads = int(entries["attention.head_count"])
    width = int(entries["embedding_length"])
    head_width = int(entries.get("attention.key_length") or width // heads)
    if int(entries.get("attention.value_length", head_width)) != head_width:
        raise InvalidArgumentError(f"{path}: heads of keys and of values differ in width")
    vocabulary = file.shape("token_embd.weight")[0]
    end = file.metadata.get("tokenizer.ggml.eos_token_id")
    return Architecture(
        width=width,
        layers=int(entries["block_count"]),
        heads=heads,
        key_heads=int(entries.get("attention.head_count_kv", heads)),
        head_width=head_width,
        hidden=int(entries["feed_forward_length"]),
        vocabulary=vocabulary,
        rotary=_rotary(entries, file, head_width),
        context=int(entries["context_length"]),
        epsilon=_rounded(entries["attention.layer_norm_rms_epsilon"]),
        has_query_key_norm="blk.0.attn_q_norm.weight" in file.names,
        has_input_bias=any(f"blk.0.{one}.bias" in file.names for one in ("attn_q", "attn_qkv")),
        is_tied="output.weight" not in file.names,
        window=entries.get("attention.sliding_window"),
        first_token=file.metadata.get("tokenizer.ggml.bos_token_id"),
        end_tokens=() if end is None else (int(end),),
    )


def _rotary(entries: _Metadata, file: GgufFile, head_width: int) -> Rotary:
    kind = entries.get("rope.scaling.type", "none")
    scaling: LinearScaling | LongScaling | None = None
    if "rope_factors_long.weight" in file.names:
        scaling = LongScaling(
            short=tuple(file.tensor("rope_factors_short.weight").tolist()),
            long=tuple(file.tensor("rope_factors_long.weight").tolist()),
            original_context=int(entries["rope.scaling.original_context_length"]),
            longest=int(entries["context_length"]),
            attention=entries.get("rope.scaling.attn_factor"),
        )
    elif kind == "linear":
        scaling = LinearScaling(float(entries["rope.scaling.factor"]))
    elif kind != "none":
        raise InvalidArgumentError(
            f"{entries.path}: {entries.family}.rope.scaling.type is {kind!r}, expected none, linear"
            " or factors in tensors"
        )
    return Rotary(
        base=float(entries.get("rope.freq_base", 10000.0)),
        width=int(entries.get("rope.dimension_count", head_width)),
        scaling=scaling,
    )


def _rounded(number: float) -> float:
    """A float32 of the file as the decimal that was meant: 1e-05, not 9.999999747378752e-06."""
    return float(f"{number:.6g}")
