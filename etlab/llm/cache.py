"""What a layer's queries see: the past, or a window of it, kept in a store or not at all."""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import nn
from torch.nn import functional

from etlab.llm.stores import Store


@dataclass(frozen=True, slots=True)
class Span:
    """Where the tokens of one call stand.

    Attributes:
        start: position of the first one; None without a cache, where it is 0.
        length: how many.
    """

    start: Any
    length: Any


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of the past a query sees.

    Attributes:
        window: that many tokens, itself included; None: all.
        sink: and the first ones of the text, that many.
    """

    window: int | None = None
    sink: int = 0

    def sees(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """Whether a query at a position sees a key at another; positions broadcast."""
        seen = key <= query
        if self.window is not None:
            near = query - key < self.window
            seen = seen & (near | (key < self.sink) if self.sink else near)
        return seen


class Attend(Protocol):
    """Attention of (1, length, heads, head_width) queries over what came before, and themselves."""

    def __call__(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, span: Span
    ) -> torch.Tensor:
        """Returns: as the query."""


class WithoutCache(nn.Module):
    """The whole text at every call."""

    def __init__(self, reach: Reach) -> None:
        super().__init__()
        self.reach = reach

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, span: Span
    ) -> torch.Tensor:
        """As `Attend` says."""
        mask = None
        if self.reach.window is not None:
            positions = torch.arange(span.length)
            mask = self.reach.sees(positions[:, None], positions)
        result = functional.scaled_dot_product_attention(
            query.transpose(1, 2),
            key.transpose(1, 2),
            value.transpose(1, 2),
            attn_mask=mask,
            is_causal=mask is None,
            enable_gqa=query.shape[2] != key.shape[2],
        )
        return result.transpose(1, 2)


class Cache(nn.Module):
    """All of the past, each token at the place of its position."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, span: Span
    ) -> torch.Tensor:
        """As `Attend` says."""
        return self.store(query, key, value, span.start, None, None)


class RingCache(nn.Module):
    """A window of the past, in a ring of places behind those of the first tokens.

    Position p lies at place p below `sink`, and else at `sink + (p - sink) % ring`. The ring holds
    a window beside all tokens of a call, so that no query misses what a later one overwrites.

    Args:
        store: has `sink + ring` places; see `ring_places`.
        reach: what queries see.
    """

    def __init__(self, store: Store, reach: Reach) -> None:
        super().__init__()
        self.store, self.reach = store, reach

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, span: Span
    ) -> torch.Tensor:
        """As `Attend` says."""
        sink = self.reach.sink
        ring = self.store.places - sink
        positions = span.start + torch.arange(span.length)
        behind = sink + torch.remainder(positions - sink, ring)
        indices = torch.where(positions < sink, positions, behind) if sink else behind
        held = self._held(span.start + span.length - 1, ring)
        seen = self.reach.sees(positions[:, None], held) & (held >= 0)
        hidden = torch.full((), float("-inf"))
        mask = torch.where(seen, torch.zeros(()), hidden)
        return self.store(query, key, value, span.start, indices[None], mask)

    def _held(self, last: Any, ring: int) -> torch.Tensor:
        """The position that each place holds, (places); below 0 where it holds none."""
        sink = self.reach.sink
        places = torch.arange(self.store.places)
        # Counted from the sink: the largest position <= last that lies at the place.
        held: torch.Tensor = last - torch.remainder(last - places, ring)
        if not sink:
            return held
        held = torch.where(held < sink, -1, held)
        first = torch.where(places <= last, places, -1)
        return torch.where(places < sink, first, held)


def ring_places(reach: Reach, longest_call: int, context: int) -> int:
    """Places that a cache of this reach needs, of `context` at most."""
    assert reach.window is not None
    return min(reach.sink + reach.window - 1 + longest_call, context)
