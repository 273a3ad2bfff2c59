"""Which checkpoint a configuration means."""

import warnings
from pathlib import Path
from typing import NoReturn

import torch

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.llm.architecture import Architecture
from etlab.llm.checkpoints.checkpoint import Checkpoint
from etlab.llm.checkpoints.consolidated import architecture_of, open_consolidated
from etlab.llm.checkpoints.download import REPOSITORIES, download
from etlab.llm.checkpoints.hugging_face import open_hugging_face
from etlab.llm.export_llm.config import BaseConfig
from etlab.llm.json_files import read_json

_FAMILIES = {"qwen2_5": "qwen2", "qwen3": "qwen3", "phi": "phi3"}  # others are "llama"


def open_checkpoint(base: BaseConfig) -> Checkpoint:
    """Find a model's weights.

    Raises:
        NotFoundError: there is nothing at a path.
        InvalidArgumentError: what lies there is no checkpoint, or of another family.
        AccessError: it must be fetched and cannot be.
    """
    if base.tokenizer_path is not None and not Path(base.tokenizer_path).expanduser().exists():
        raise NotFoundError(f"base.tokenizer_path: there is nothing at '{base.tokenizer_path}'")
    checkpoint = _open(base)
    starts = (family for start, family in _FAMILIES.items() if base.model_class.startswith(start))
    family = next(starts, "llama")
    if checkpoint.family is not None and checkpoint.family != family:
        raise InvalidArgumentError(
            f"base.model_class={base.model_class} is of the family {family}, but the checkpoint"
            f" '{checkpoint.path}' says {checkpoint.family}"
        )
    return checkpoint


def _open(base: BaseConfig) -> Checkpoint:
    if base.checkpoint is None:
        if base.params is not None:
            return _random(Path(base.params).expanduser())
        if base.model_class in REPOSITORIES:
            return open_hugging_face(download(base.model_class))
        raise InvalidArgumentError(
            "base.checkpoint: expected the weights' file or folder; with base.params alone, a model"
            " gets random ones"
        )
    path = Path(base.checkpoint).expanduser()
    if not path.exists():
        raise NotFoundError(f"base.checkpoint: there is nothing at '{path}'")
    params = None if base.params is None else Path(base.params).expanduser()
    if path.suffix == ".gguf":
        from etlab.llm.checkpoints.gguf import open_gguf

        return open_gguf(path)
    if path.is_dir() or path.suffix == ".safetensors":
        return open_hugging_face(path, params)
    if path.suffix in (".pth", ".pt", ".bin"):
        return open_consolidated(path, read_json(params or _beside(path), "base.params"))
    raise InvalidArgumentError(
        f"base.checkpoint: '{path}' is no checkpoint: expected a .pth, .gguf or .safetensors file,"
        " or a Hugging Face folder"
    )


def _beside(checkpoint: Path) -> Path:
    beside = checkpoint.parent / "params.json"
    if not beside.exists():
        raise NotFoundError(
            f"base.params: expected a params.json for '{checkpoint}'; there is none beside it"
        )
    return beside


def _random(path: Path) -> Checkpoint:
    warnings.warn(
        "base.checkpoint is not given: the model gets random weights, and says nothing",
        stacklevel=5,
    )
    return random_checkpoint(architecture_of(read_json(path, "base.params")), path)


def random_checkpoint(architecture: Architecture, path: Path) -> Checkpoint:
    """Random weights of the right sizes, the same at every call."""

    def read(name: str) -> NoReturn:
        raise AssertionError(name)

    return Checkpoint(
        path=path,
        form="meta",
        architecture=architecture,
        names=(),
        read=read,
        random=torch.Generator().manual_seed(0),
    )
