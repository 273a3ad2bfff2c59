"""A random language model of the runner's contract, small enough to export in a second."""

import functools
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  torch's own convention
from torch import nn

from etlab.exir import to_edge_transform_and_lower

VOCABULARY, CONTEXT, LONGEST_CALL, EOS = 23, 24, 7, 5
CONSTANTS = {
    "get_max_seq_len": LONGEST_CALL,
    "get_max_context_len": CONTEXT,
    "get_vocab_size": VOCABULARY,
    "get_bos_id": 1,
    "get_eos_ids": [EOS, VOCABULARY + 100],  # as exporters do, one that the model does not have
    "use_kv_cache": True,
}


class TinyModel(nn.Module):
    """One layer of attention over a cache: tokens (1, N), input_pos (1) to logits."""

    def __init__(self, *, gives_all_logits: bool = False, dtype: torch.dtype = torch.float32):
        super().__init__()
        self.gives_all_logits, self.dtype = gives_all_logits, dtype
        width = 8
        self.word = nn.Embedding(VOCABULARY, width)
        self.place = nn.Embedding(CONTEXT, width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(CONTEXT, width))
        with torch.no_grad():
            for index, parameter in enumerate(self.parameters()):
                generator = torch.Generator().manual_seed(index)
                parameter.copy_(torch.randn(parameter.shape, generator=generator))

    def forward(self, tokens: torch.Tensor, input_pos: torch.Tensor) -> torch.Tensor:
        places = input_pos + torch.arange(tokens.shape[1])
        x = (self.word(tokens) + self.place(places))[0]
        self.keys.index_copy_(0, places, self.key(x))
        self.values.index_copy_(0, places, self.value(x))
        is_seen = torch.arange(CONTEXT) <= places[:, None]
        scores = (self.query(x) @ self.keys.T).masked_fill(~is_seen, float("-inf"))
        x = x + F.softmax(scores, -1) @ self.values
        logits = (F.linear(x, self.word.weight)[None]).to(self.dtype)
        return logits if self.gives_all_logits else logits[:, -1]


def lower(
    methods: Mapping[str, tuple[nn.Module, int | None]],
    constants: Mapping[str, Any] = CONSTANTS,
    **options: Any,
) -> bytes:
    """A program of models by method name, each with a fixed number of tokens or up to a bound."""
    exported = {}
    for name, (model, length) in methods.items():
        tokens = torch.ones(1, length or 3, dtype=torch.int64)
        shapes = (None, None) if length else ({1: torch.export.Dim("n", max=LONGEST_CALL)}, None)
        exported[name] = torch.export.export(
            model.eval(), (tokens, torch.zeros(1, dtype=torch.int64)), dynamic_shapes=shapes
        )
    manager = to_edge_transform_and_lower(exported, constant_methods=dict(constants))
    return manager.to_executorch(**options).buffer


@functools.cache
def tiny_program() -> bytes:
    """The usual one: any number of tokens at once, logits of the last."""
    return lower({"forward": (TinyModel(), None)})


def eager_greedy(prompt: list[int], count: int) -> list[int]:
    """What the model in PyTorch writes on after the prompt, without its stop token."""
    text = list(prompt)
    for _ in range(count):
        model = TinyModel()  # an empty cache, the whole text
        with torch.no_grad():
            logits = model(torch.tensor([text]), torch.tensor([0]))
        text.append(int(logits[0].argmax()))
    return text[len(prompt) :]
