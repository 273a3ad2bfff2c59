"""The decoder that all families share: tokens to the logits of the next one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from etlab.llm.architecture import Architecture
from etlab.llm.cache import (
    Attend,
    Cache,
    Reach,
    RingCache,
    Span,
    WithoutCache,
    ring_places,
)
from etlab.llm.rotary import rotary_tables, turn
from etlab.llm.stores import FloatStore, IntegerStore, Store

_ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "silu": functional.silu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a model is run, which is decided before its export.

    Attributes:
        longest_call: most tokens of one call.
        context: most tokens that a conversation may have: places of the cache.
        has_cache: keys and values of earlier calls are kept; without, every call is a whole text.
        is_fused: attention is `llama::custom_sdpa`.
        is_integer: the cache holds 8-bit integers.
        reaches: what the queries of each layer see, repeated over the layers; where there is none,
            the architecture's window.
        is_dynamic: calls have any length up to `longest_call`; else always one token.
        has_full_logits: of every token of a call; else of the last one.
        dtype: of weights and cache.
    """

    longest_call: int = 128
    context: int = 128
    has_cache: bool = True
    is_fused: bool = True
    is_integer: bool = False
    reaches: tuple[Reach, ...] = ()
    is_dynamic: bool = True
    has_full_logits: bool = False
    dtype: torch.dtype = torch.float32


class Norm(nn.Module):
    """Scales rows to a mean square of 1, times a learned weight; computed in float32."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """X: (..., width)."""
        wide = x.float()
        size = torch.rsqrt((wide * wide).mean(-1, keepdim=True) + self.epsilon)
        return (wide * size).to(x.dtype) * self.weight


class Attention(nn.Module):
    """Heads of queries over shared heads of keys and values."""

    def __init__(self, architecture: Architecture, attend: Attend) -> None:
        super().__init__()
        one, width = architecture, architecture.head_width
        self.head_width = width
        self.query = nn.Linear(one.width, one.heads * width, bias=one.has_input_bias)
        self.key = nn.Linear(one.width, one.key_heads * width, bias=one.has_input_bias)
        self.value = nn.Linear(one.width, one.key_heads * width, bias=one.has_input_bias)
        self.output = nn.Linear(one.heads * width, one.width, bias=one.has_output_bias)
        self.query_norm = self.key_norm = None
        if one.has_query_key_norm:
            self.query_norm = Norm(width, one.epsilon)
            self.key_norm = Norm(width, one.epsilon)
        self.cache = attend

    def forward(
        self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, span: Span
    ) -> torch.Tensor:
        """X: (1, length, width)."""
        query, key, value = (
            layer(x).view(1, span.length, -1, self.head_width)
            for layer in (self.query, self.key, self.value)
        )
        if self.query_norm is not None and self.key_norm is not None:
            query, key = self.query_norm(query), self.key_norm(key)
        query, key = turn(query, cosine, sine), turn(key, cosine, sine)
        attended = self.cache(query, key, value, span).reshape(1, span.length, -1)
        result: torch.Tensor = self.output(attended)
        return result


class FeedForward(nn.Module):
    """`down(activation(gate(x)) * up(x))`."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        width, hidden = architecture.width, architecture.hidden
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        self.activation = architecture.activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """X: (1, length, width)."""
        gated = _ACTIVATIONS[self.activation](self.gate(x)) * self.up(x)
        result: torch.Tensor = self.down(gated)
        return result


class Layer(nn.Module):
    """Attention, then the feed-forward, each behind a norm and added."""

    def __init__(self, architecture: Architecture, attend: Attend) -> None:
        super().__init__()
        self.attention_norm = Norm(architecture.width, architecture.epsilon)
        self.attention = Attention(architecture, attend)
        self.feed_forward_norm = Norm(architecture.width, architecture.epsilon)
        self.feed_forward = FeedForward(architecture)

    def forward(
        self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, span: Span
    ) -> torch.Tensor:
        """X: (1, length, width)."""
        x = x + self.attention(self.attention_norm(x), cosine, sine, span)
        result: torch.Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return result


class Transformer(nn.Module):
    """A decoder; made with empty weights where `torch.device("meta")` is the default.

    Args:
        architecture: what it is made of.
        options: how it is run.
    """

    def __init__(self, architecture: Architecture, options: Options) -> None:
        super().__init__()
        self.architecture, self.options = architecture, options
        self.embedding = nn.Embedding(architecture.vocabulary, architecture.width)
        self.layers = nn.ModuleList(
            Layer(architecture, _attend(architecture, options, index))
            for index in range(architecture.layers)
        )
        self.norm = Norm(architecture.width, architecture.epsilon)
        self.output = nn.Linear(architecture.width, architecture.vocabulary, bias=False)
        if architecture.is_tied:
            self.output.weight = self.embedding.weight
        self.make_state()

    def make_state(self) -> None:
        """Make the tables of angles, and empty caches, on the default device."""
        cosine, sine = rotary_tables(self.architecture.rotary, self.options.context)
        self.register_buffer("cosine", cosine.to(self.options.dtype), persistent=False)
        self.register_buffer("sine", sine.to(self.options.dtype), persistent=False)
        self.cosine: torch.Tensor
        self.sine: torch.Tensor
        for module in self.modules():
            if isinstance(module, FloatStore | IntegerStore):
                module.make_state()

    def forward(self, tokens: torch.Tensor, input_pos: torch.Tensor | None = None) -> torch.Tensor:
        """Logits of the next token.

        Args:
            tokens: (1, length) int64.
            input_pos: (1) int64: the first one's position; only with a cache, which then holds
                these tokens, too.

        Returns:
            (1, vocabulary) of the last token, or (1, length, vocabulary) of each.
        """
        x = self._rows(tokens, input_pos)
        if not self.options.has_full_logits:
            x = x[:, -1]
        result: torch.Tensor = self.output(self.norm(x))
        return result

    def score(self, tokens: torch.Tensor, input_pos: torch.Tensor | None = None) -> torch.Tensor:
        """As `forward`, but always the logits of each token: (1, length, vocabulary)."""
        result: torch.Tensor = self.output(self.norm(self._rows(tokens, input_pos)))
        return result

    def _rows(self, tokens: torch.Tensor, input_pos: torch.Tensor | None) -> torch.Tensor:
        """What the last layer makes of the tokens, (1, length, width)."""
        span = self._span(tokens, input_pos)
        start = 0 if span.start is None else span.start
        cosine = self.cosine.narrow(0, start, span.length)[:, None]
        sine = self.sine.narrow(0, start, span.length)[:, None]
        x: torch.Tensor = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, cosine, sine, span)
        return x

    def _span(self, tokens: torch.Tensor, input_pos: torch.Tensor | None) -> Span:
        length = tokens.shape[1]
        if input_pos is None:
            return Span(None, length)
        context = self.options.context
        # In words of our own: torch.export leaves only the formula of torch._check.
        fits = (input_pos >= 0) & (input_pos <= context - length)
        torch.ops.aten._assert_async.msg(
            fits[0],
            f"the tokens from input_pos on do not fit into the context of {context} tokens: start a"
            " new conversation, or export with a larger export.max_context_length",
        )
        start = input_pos[0].item()
        assert isinstance(start, int | torch.SymInt)
        check: Any = torch._check
        check(start >= 0)
        check(start + length <= context)
        return Span(start, length)


def _attend(architecture: Architecture, options: Options, layer: int) -> Attend:
    reaches = options.reaches or (Reach(architecture.window),)
    reach = reaches[layer % len(reaches)]
    if reach.window is not None and reach.window >= options.context:
        reach = Reach()
    if not options.has_cache:
        return WithoutCache(reach)
    if reach.window is None:
        return Cache(_store(architecture, options, options.context))
    places = ring_places(reach, options.longest_call, options.context)
    return RingCache(_store(architecture, options, places), reach)


def _store(architecture: Architecture, options: Options, places: int) -> Store:
    heads, width = architecture.key_heads, architecture.head_width
    if options.is_integer:
        return IntegerStore(places, heads, width, is_fused=options.is_fused)
    return FloatStore(places, heads, width, options.dtype, is_fused=options.is_fused)
