"""Which checkpoint a configuration means."""

import warnings
from pathlib import Path

import torch

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.llm.architecture import Architecture
from etlab.llm.checkpoints.checkpoint import Checkpoint
from etlab.llm.checkpoints.consolidated import architecture_of, open_consolidated, read_params
from etlab.llm.export_llm.config import BaseConfig


def open_checkpoint(base: BaseConfig) -> Checkpoint:
    """Find a model's weights.

    Raises:
        NotFoundError: there is nothing at the path.
        InvalidArgumentError: what lies there is no checkpoint.
    """
    if base.checkpoint is None:
        return _without_checkpoint(base)
    path = Path(base.checkpoint).expanduser()
    if not path.exists():
        raise NotFoundError(f"base.checkpoint: there is nothing at '{path}'")
    if path.suffix == ".gguf":
        from etlab.llm.checkpoints.gguf import open_gguf

        return open_gguf(path)
    if path.suffix in (".pth", ".pt", ".bin") and path.is_file():
        return open_consolidated(path, read_params(_params_path(base, path)))
    raise InvalidArgumentError(
        f"base.checkpoint: '{path}' is no checkpoint: expected a .pth, .gguf or .safetensors file,"
        " or a Hugging Face folder"
    )


def _params_path(base: BaseConfig, checkpoint: Path) -> Path:
    if base.params is not None:
        return Path(base.params).expanduser()
    beside = checkpoint.parent / "params.json"
    if not beside.exists():
        raise NotFoundError(
            f"base.params: expected a params.json for '{checkpoint}'; there is none beside it"
        )
    return beside


def _without_checkpoint(base: BaseConfig) -> Checkpoint:
    if base.params is None:
        raise InvalidArgumentError(
            "base.checkpoint: expected the weights' file or folder; with base.params alone, a Llama"
            " model gets random ones"
        )
    warnings.warn(
        "base.checkpoint is not given: the model gets random weights, and says nothing",
        stacklevel=4,
    )
    params = read_params(Path(base.params).expanduser())
    return random_checkpoint(architecture_of(params), Path(base.params))


def random_checkpoint(architecture: Architecture, path: Path) -> Checkpoint:
    """Random weights of the right sizes, the same at every call."""
    return Checkpoint(
        path=path,
        form="meta",
        architecture=architecture,
        names=(),
        read=_unreachable,
        random=torch.Generator().manual_seed(0),
    )


def _unreachable(name: str) -> torch.Tensor:
    raise AssertionError(name)
