"""Where keys and values are kept between calls: (1, places, key_heads, head_width)."""

from typing import Any, Protocol

import torch
from torch import nn
from torch.nn import functional

from etlab.llm import operators  # noqa: F401  defines llama::

_LEAST, _MOST = -128, 127
_ENDINGS = ("", "_scales", "_zeros")  # of the state that integers are kept in


class Store(Protocol):
    """Keys and values in places; `start` is that of the first token, where they follow on it."""

    places: int

    def make_state(self) -> None:
        """Empty it, on the default device."""

    def __call__(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        start: Any,
        indices: torch.Tensor | None,
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """Write keys and values, then attend.

        Args:
            query: (1, length, heads, head_width).
            key: (1, length, key_heads, head_width).
            value: alike.
            start: position of the first token.
            indices: (1, length) int64 places to write; None: from `start` on.
            mask: (length, places), added to the scores; None: what stands before, and itself.
        """


class _Store(nn.Module):
    """State by name and dtype."""

    def __init__(self, places: int, key_heads: int, head_width: int, *, is_fused: bool) -> None:
        super().__init__()
        self.places, self.key_heads, self.head_width = places, key_heads, head_width
        self.is_fused = is_fused
        self.keys: torch.Tensor
        self.values: torch.Tensor

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        start: Any,
        indices: torch.Tensor | None,
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """As `Store` says."""
        for name, new in (("keys", key), ("values", value)):
            for ending, part in self._parts(new).items():
                self._write(part, name + ending, start, indices)
        attend = self._attend_fused if self.is_fused else self._attend_apart
        return attend(query, start, mask)

    def _parts(self, new: torch.Tensor) -> dict[str, torch.Tensor]:
        """What is kept of keys or values, by the ending of the state's name."""
        raise NotImplementedError

    def _floats(self, name: str, dtype: torch.dtype) -> torch.Tensor:
        """All "keys" or "values" as floats: `dtype`, which is that of the queries."""
        raise NotImplementedError

    def _attend_fused(
        self, query: torch.Tensor, start: Any, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """By one of ExecuTorch's operators."""
        raise NotImplementedError

    def _attend_apart(
        self, query: torch.Tensor, start: Any, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """By PyTorch's own operators."""
        if mask is None:
            positions = start + torch.arange(query.shape[1])
            mask = torch.arange(self.places) <= positions[:, None]
        keys, values = (self._floats(name, query.dtype) for name in ("keys", "values"))
        result = functional.scaled_dot_product_attention(
            query.transpose(1, 2),
            keys.transpose(1, 2),
            values.transpose(1, 2),
            attn_mask=mask,
            enable_gqa=query.shape[2] != self.key_heads,
        )
        return result.transpose(1, 2)

    def _empty(self, name: str, width: int, dtype: torch.dtype) -> None:
        empty = torch.zeros(1, self.places, self.key_heads, width, dtype=dtype)
        self.register_buffer(name, empty, persistent=False)

    def _write(
        self, new: torch.Tensor, name: str, start: Any, indices: torch.Tensor | None
    ) -> None:
        cache = getattr(self, name)
        if not self.is_fused:
            places = start + torch.arange(new.shape[1]) if indices is None else indices[0]
            cache.index_copy_(1, places, new)
        elif indices is None:
            torch.ops.llama.update_cache(new, cache, start)
        else:
            torch.ops.llama.update_cache_with_indices(new, cache, 0, indices)


class FloatStore(_Store):
    """Keys and values as they are.

    Args:
        places: how many.
        key_heads: of keys and values.
        head_width: columns of one.
        dtype: of the elements.
        is_fused: use ExecuTorch's `llama::` operators, else PyTorch's own.
    """

    def __init__(
        self, places: int, key_heads: int, head_width: int, dtype: torch.dtype, *, is_fused: bool
    ) -> None:
        super().__init__(places, key_heads, head_width, is_fused=is_fused)
        self.dtype = dtype
        self.make_state()

    def make_state(self) -> None:
        """Empty it, on the default device."""
        for name in ("keys", "values"):
            self._empty(name, self.head_width, self.dtype)

    def _parts(self, new: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"": new}

    def _floats(self, name: str, dtype: torch.dtype) -> torch.Tensor:
        floats: torch.Tensor = getattr(self, name)
        return floats

    def _attend_fused(
        self, query: torch.Tensor, start: Any, mask: torch.Tensor | None
    ) -> torch.Tensor:
        attended: torch.Tensor = torch.ops.llama.custom_sdpa(
            query, self.keys, self.values, 0 if mask is not None else start, mask, 0.0, mask is None
        )
        return attended


class IntegerStore(_Store):
    """Keys and values as 8-bit integers, with a scale and a zero for each token and head.

    Args:
        places: how many.
        key_heads: of keys and values.
        head_width: columns of one.
        is_fused: attend with `llama::custom_quantized_sdpa`, which takes queries as integers, too.
    """

    def __init__(self, places: int, key_heads: int, head_width: int, *, is_fused: bool) -> None:
        super().__init__(places, key_heads, head_width, is_fused=is_fused)
        self.make_state()

    def make_state(self) -> None:
        """Empty it, on the default device."""
        for name in ("keys", "values"):
            self._empty(name, self.head_width, torch.int8)
            self._empty(f"{name}_scales", 1, torch.float32)
            self._empty(f"{name}_zeros", 1, torch.int8)

    def _parts(self, new: torch.Tensor) -> dict[str, torch.Tensor]:
        return dict(zip(_ENDINGS, quantize_rows(new), strict=True))

    def _floats(self, name: str, dtype: torch.dtype) -> torch.Tensor:
        return dequantize_rows(*(getattr(self, name + ending) for ending in _ENDINGS)).to(dtype)

    def _attend_fused(
        self, query: torch.Tensor, start: Any, mask: torch.Tensor | None
    ) -> torch.Tensor:
        integers, scales, zeros = quantize_rows(query)
        attended: torch.Tensor = torch.ops.llama.custom_quantized_sdpa(
            integers,
            self.keys,
            self.values,
            0 if mask is not None else start,
            mask,
            0.0,
            mask is None,
            None,
            zeros,
            scales,
            self.keys_zeros,
            self.keys_scales,
            self.values_zeros,
            self.values_scales,
        )
        return attended.to(query.dtype)


def quantize_rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows as int8 with their own scales (float32) and zeros (int8), both (..., 1)."""
    library: Any = torch.ops.quantized_decomposed
    wide = x.float()
    scales, zeros = library.choose_qparams_per_token_asymmetric(wide, torch.int8)
    integers = library.quantize_per_token(wide, scales, zeros, _LEAST, _MOST, torch.int8)
    return integers, scales.float(), zeros.to(torch.int8)


def dequantize_rows(
    integers: torch.Tensor, scales: torch.Tensor, zeros: torch.Tensor
) -> torch.Tensor:
    """The rows that `quantize_rows` made integers of, float32."""
    return (integers.float() - zeros.float()) * scales
