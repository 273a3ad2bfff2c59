"""ExecuTorch's `llama::` operators for eager PyTorch and `torch.export`.

They have the official names, schemas and meanings; importing this module defines those that the
process lacks. In a program they are calls of our kernels, or of the official ones.
"""

from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed::
from torch.nn import functional

from etlab.exir.shared_operators import shared_library

_OPTIONS = "Tensor? attn_mask=None, float drpout_p=0.0, bool is_causal=False, float? scale=None"
_SCHEMAS = {
    "sdpa_with_kv_cache": (
        "(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache,"
        f" SymInt start_pos, SymInt seq_len, {_OPTIONS}) -> Tensor"
    ),
    "custom_sdpa": (
        f"(Tensor query, Tensor key, Tensor value, SymInt start_pos, {_OPTIONS}) -> Tensor"
    ),
    "custom_quantized_sdpa": (
        f"(Tensor query, Tensor key, Tensor value, SymInt start_pos, {_OPTIONS},"
        " Tensor? q_zero_points=None, Tensor? q_scales=None, Tensor? k_zero_points=None,"
        " Tensor? k_scales=None, Tensor? v_zero_points=None, Tensor? v_scales=None,"
        " bool is_seq_at_dim_2=False) -> Tensor"
    ),
    "update_cache": "(Tensor value, Tensor(a!) cache, SymInt start_pos) -> Tensor",
    "update_cache_with_indices": (
        "(Tensor value, Tensor(a!) cache, SymInt start_pos, Tensor indices) -> Tensor"
    ),
}


def _custom_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    start_pos: int,
    attn_mask: torch.Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> torch.Tensor:
    """Queries at `start_pos` and after over a cache: (batch, length, heads, head_width)."""
    length = query.shape[1]
    if attn_mask is None:
        end = start_pos + length
        key, value = key[:, :end], value[:, :end]
        if is_causal:
            attn_mask = torch.ones(length, end, dtype=torch.bool).tril(start_pos)
    elif attn_mask.is_floating_point():
        attn_mask = attn_mask.to(query.dtype)
    result = functional.scaled_dot_product_attention(
        query.transpose(1, 2),
        key.transpose(1, 2),
        value.transpose(1, 2),
        attn_mask=attn_mask,
        scale=scale,
        enable_gqa=True,
    )
    return result.transpose(1, 2).contiguous()


def _custom_quantized_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    start_pos: int,
    attn_mask: torch.Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    q_zero_points: torch.Tensor | None = None,
    q_scales: torch.Tensor | None = None,
    k_zero_points: torch.Tensor | None = None,
    k_scales: torch.Tensor | None = None,
    v_zero_points: torch.Tensor | None = None,
    v_scales: torch.Tensor | None = None,
    is_seq_at_dim_2: bool = False,
) -> torch.Tensor:
    """The same on int8 tensors whose rows have scales (..., 1) float32 and zeros (..., 1) int8."""

    def as_float(
        integers: torch.Tensor, scales: torch.Tensor | None, zeros: torch.Tensor | None
    ) -> torch.Tensor:
        assert scales is not None
        assert zeros is not None
        rows = (integers.float() - zeros.float()) * scales
        return rows.transpose(1, 2) if is_seq_at_dim_2 else rows

    result = _custom_sdpa(
        as_float(query, q_scales, q_zero_points),
        as_float(key, k_scales, k_zero_points),
        as_float(value, v_scales, v_zero_points),
        start_pos,
        attn_mask,
        drpout_p,
        is_causal,
        scale,
    )
    return result.transpose(1, 2).contiguous() if is_seq_at_dim_2 else result


def _sdpa_with_kv_cache(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    start_pos: int,
    seq_len: int,
    *args: Any,
    **options: Any,
) -> torch.Tensor:
    _update_cache(key, key_cache, start_pos)
    _update_cache(value, value_cache, start_pos)
    return _custom_sdpa(query, key_cache, value_cache, start_pos, *args, **options)


def _update_cache(value: torch.Tensor, cache: torch.Tensor, start_pos: int) -> torch.Tensor:
    cache[:, start_pos : start_pos + value.shape[1]] = value
    return _nothing(value)


def _update_cache_with_indices(
    value: torch.Tensor, cache: torch.Tensor, start_pos: int, indices: torch.Tensor
) -> torch.Tensor:
    batch = torch.arange(value.shape[0])[:, None]
    cache[batch, indices] = value
    return _nothing(value)


def _nothing(value: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
    return torch.zeros(1, dtype=value.dtype, device=value.device)


def _like_query(query: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
    return torch.empty_like(query)


def _float_like_query(query: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
    return torch.empty_like(query, dtype=torch.float32)


_KERNELS = {
    "sdpa_with_kv_cache": (_sdpa_with_kv_cache, _like_query),
    "custom_sdpa": (_custom_sdpa, _like_query),
    "custom_quantized_sdpa": (_custom_quantized_sdpa, _float_like_query),
    "update_cache": (_update_cache, _nothing),
    "update_cache_with_indices": (_update_cache_with_indices, _nothing),
}

_library: Any = shared_library("llama", "executorch.extension.llm.custom_ops.custom_ops")
for _name, _schema in _SCHEMAS.items():
    if hasattr(torch.ops.llama, _name):  # the official package came first
        continue
    _kernel, _shape = _KERNELS[_name]
    _library.define(_name + _schema)
    _library.impl(_name, _kernel, "CompositeExplicitAutograd")
    _library.impl(_name, _shape, "Meta")
