"""Language models small enough to be made in a test, as checkpoints on disk."""

import json
from pathlib import Path
from typing import Any

import torch

from etlab.llm.architecture import Architecture
from etlab.llm.checkpoints.consolidated import architecture_of
from etlab.llm.checkpoints.names import their_name
from etlab.llm.export_llm.result import LlmExport
from etlab.llm.transformer import Options, Transformer
from etlab.runtime import Runtime

PARAMS = {
    "dim": 64,
    "n_layers": 2,
    "n_heads": 4,
    "n_kv_heads": 2,
    "vocab_size": 96,
    "hidden_dim": 96,
    "norm_eps": 1e-5,
    "rope_theta": 10000.0,
}
CACHED = {"use_kv_cache": True, "use_sdpa_with_kv_cache": True}


def random_model(architecture: Architecture, **options: Any) -> Transformer:
    torch.manual_seed(0)
    model = Transformer(architecture, Options(has_cache=False, has_full_logits=True, **options))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return model.eval().requires_grad_(False)


def write_consolidated(folder: Path, model: Transformer, params: dict[str, Any]) -> Path:
    state = {
        their_name("meta", name): tensor
        for name, tensor in model.state_dict().items()
        if not (model.architecture.is_tied and name == "output.weight")
    }
    torch.save(state, folder / "consolidated.00.pth")
    (folder / "params.json").write_text(json.dumps(params))
    return folder / "consolidated.00.pth"


def checkpoint(folder: Path, *, is_tied: bool = False, **changes: Any) -> tuple[Transformer, Path]:
    """A model with random weights without a cache, and its checkpoint."""
    params = {**PARAMS, "use_hf_rope": True, **changes}
    model = random_model(architecture_of(params, is_tied=is_tied))
    return model, write_consolidated(folder, model, params)


def tokens(count: int, vocabulary: int = 96) -> torch.Tensor:
    return torch.randint(vocabulary, (1, count), generator=torch.Generator().manual_seed(1))


class Conversation:
    """Calls of an exported program, one after the other."""

    def __init__(self, exported: LlmExport) -> None:
        self.program = Runtime.get().load_program(exported.run.program.buffer)
        self.method = self.program.load_method("forward")
        self.position = 0

    def say(self, words: torch.Tensor) -> torch.Tensor:
        (logits,) = self.method.execute([words, torch.tensor([self.position])])
        self.position += words.shape[1]
        return logits
