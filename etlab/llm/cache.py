"""Caches of keys and values: the state of a language model, (1, context, key_heads, head_width)."""

from typing import Protocol

import torch
from torch import nn
from torch.nn import functional

from etlab.llm import operators  # noqa: F401  defines llama::


class Span:
    """Where the tokens of one call stand.

    Attributes:
        start: position of the first one; None without a cache, where it is 0.
        length: how many.
    """

    def __init__(self, start: int | None, length: int) -> None:
        self.start, self.length = start, length


class Attend(Protocol):
    """Attention of (1, length, heads, head_width) queries over what came before, and themselves."""

    def __call__(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, span: Span
    ) -> torch.Tensor:
        """Returns: as the query."""


class WithoutCache(nn.Module):
    """The whole text at every call."""

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, span: Span
    ) -> torch.Tensor:
        """As `Attend` says."""
        result = functional.scaled_dot_product_attention(
            query.transpose(1, 2),
            key.transpose(1, 2),
            value.transpose(1, 2),
            is_causal=True,
            enable_gqa=query.shape[2] != key.shape[2],
        )
        return result.transpose(1, 2)


class FloatCache(nn.Module):
    """Keys and values as they are, at the places of their positions.

    Args:
        context: how many places.
        key_heads: of keys and values.
        head_width: columns of one.
        dtype: of the elements.
        is_fused: attend with `llama::custom_sdpa`, else with PyTorch's own operators.
    """

    def __init__(
        self,
        context: int,
        key_heads: int,
        head_width: int,
        dtype: torch.dtype = torch.float32,
        *,
        is_fused: bool = True,
    ) -> None:
        super().__init__()
        self.is_fused = is_fused
        self.sizes = (1, context, key_heads, head_width)
        self.dtype = dtype
        self.make_state()

    def make_state(self) -> None:
        """Empty the cache, on the default device."""
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(self.sizes, dtype=self.dtype), persistent=False)
        self.keys: torch.Tensor
        self.values: torch.Tensor

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, span: Span
    ) -> torch.Tensor:
        """As `Attend` says."""
        assert span.start is not None
        if self.is_fused:
            torch.ops.llama.update_cache(key, self.keys, span.start)
            torch.ops.llama.update_cache(value, self.values, span.start)
            attended: torch.Tensor = torch.ops.llama.custom_sdpa(
                query, self.keys, self.values, span.start, None, 0.0, True
            )
            return attended
        places = span.start + torch.arange(span.length)
        self.keys.index_copy_(1, places, key)
        self.values.index_copy_(1, places, value)
        is_seen = torch.arange(self.keys.shape[1]) <= places[:, None]  # (length, context)
        result = functional.scaled_dot_product_attention(
            query.transpose(1, 2),
            self.keys.transpose(1, 2),
            self.values.transpose(1, 2),
            attn_mask=is_seen,
            enable_gqa=query.shape[2] != key.shape[2],
        )
        return result.transpose(1, 2)
