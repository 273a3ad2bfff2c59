"""ExecuTorch's attention over a cache, which its language models are exported with."""

from typing import Any

import torch
from torch.nn import functional

from kernels.case import Case, Refusal, make_tensor

_OPTIONS = "Tensor? attn_mask=None, float drpout_p=0.0, bool is_causal=False, float? scale=None"
SDPA = (
    "llama::custom_sdpa.out(Tensor query, Tensor key, Tensor value, SymInt start_pos,"
    f" {_OPTIONS}, *, Tensor(a!) out) -> Tensor(a!)"
)
SDPA_WITH_CACHE = (
    "llama::sdpa_with_kv_cache.out(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache,"
    f" Tensor(b!) value_cache, SymInt start_pos, SymInt seq_len, {_OPTIONS}, *, Tensor(c!) out)"
    " -> Tensor(c!)"
)
QUANTIZED = (
    f"llama::custom_quantized_sdpa.out(Tensor query, Tensor key, Tensor value, SymInt start_pos,"
    f" {_OPTIONS}, Tensor? q_zero_points=None, Tensor? q_scales=None, Tensor? k_zero_points=None,"
    " Tensor? k_scales=None, Tensor? v_zero_points=None, Tensor? v_scales=None,"
    " bool is_seq_at_dim_2=False, *, Tensor(a!) out) -> Tensor(a!)"
)
UPDATE = (
    "llama::update_cache.out(Tensor value, Tensor(a!) cache, SymInt start_pos, *, Tensor(b!) out)"
    " -> Tensor(b!)"
)
UPDATE_AT = (
    "llama::update_cache_with_indices.out(Tensor value, Tensor(a!) cache, SymInt start_pos,"
    " Tensor indices, *, Tensor(b!) out) -> Tensor(b!)"
)


def values(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return make_tensor(*shape, dtype=dtype, low=-2, high=2, seed=seed)


def attend(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    start: int,
    attn_mask: torch.Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> torch.Tensor:
    """By torch, whose causal queries begin at the first key."""
    end = start + query.shape[1]
    if attn_mask is None:
        keys, values = keys[:, :end], values[:, :end]
        if is_causal:
            attn_mask = torch.ones(query.shape[1], end, dtype=torch.bool).tril(start)
    by_heads = [tensor.transpose(1, 2) for tensor in (query, keys, values)]
    if attn_mask is not None and attn_mask.is_floating_point():
        attn_mask = attn_mask.to(query.dtype)
    result = functional.scaled_dot_product_attention(
        *by_heads, attn_mask=attn_mask, scale=scale, enable_gqa=True
    )
    return result.transpose(1, 2).contiguous()


def attend_with_cache(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    start: int,
    length: int,
    *args: Any,
    **options: Any,
) -> torch.Tensor:
    keys[:, start : start + length] = key
    values[:, start : start + length] = value
    return attend(query, keys, values, start, *args, **options)


def update(value: torch.Tensor, cache: torch.Tensor, start: int) -> torch.Tensor:
    cache[:, start : start + value.shape[1]] = value
    return torch.zeros(1, dtype=value.dtype)


def update_at(
    value: torch.Tensor, cache: torch.Tensor, start: int, indices: torch.Tensor
) -> torch.Tensor:
    for batch, places in enumerate(indices.tolist()):
        for place, one in zip(places, value[batch], strict=True):
            cache[batch, place] = one
    return torch.zeros(1, dtype=value.dtype)


def attend_quantized(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    start: int,
    attn_mask: torch.Tensor | None,
    dropout: float,
    is_causal: bool,
    scale: float | None,
    *parameters: torch.Tensor,
) -> torch.Tensor:
    rows = [
        (integers.float() - zeros.float()) * scales
        for integers, zeros, scales in zip(
            (query, keys, values), parameters[::2], parameters[1::2], strict=True
        )
    ]
    return attend(*rows, start, attn_mask, is_causal=is_causal, scale=scale)


def over_cache(
    batch: int = 2,
    length: int = 3,
    heads: int = 4,
    own: int = 2,
    depth: int = 8,
    cache: int = 9,
    **options: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A query and the two caches; `own`: heads of the caches."""
    return (
        values(batch, length, heads, depth, **options),
        values(batch, cache, own, depth, seed=1, **options),
        values(batch, cache, own, depth, seed=2, **options),
    )


def quantized_over_cache(
    start: int, attn_mask: torch.Tensor | None = None, **options: Any
) -> tuple[Any, ...]:
    """All arguments of the quantized operator."""
    integers = [
        make_tensor(*tensor.shape, dtype=torch.int8, low=-128, high=127, seed=seed)
        for seed, tensor in enumerate(over_cache(**options))
    ]
    parameters: list[torch.Tensor] = []
    for seed, tensor in enumerate(integers):
        sizes = (*tensor.shape[:3], 1)
        zeros = make_tensor(*sizes, dtype=torch.int8, low=-5, high=5, seed=seed)
        parameters += [zeros, make_tensor(*sizes, low=0.001, high=0.02, seed=seed)]
    return (*integers, start, attn_mask, 0.0, attn_mask is None, None, *parameters)


def case(*args: Any, **options: Any) -> Case:
    return Case(SDPA, args, options, reference=attend)


def mask(rows: int, columns: int) -> torch.Tensor:
    visible = make_tensor(rows, columns, dtype=torch.bool)
    return torch.where(visible, values(rows, columns, seed=3), -float("inf"))


CASES = [
    *(
        Case(QUANTIZED, quantized_over_cache(start, **sizes), reference=attend_quantized)
        for start, sizes in (
            (4, {}),
            (0, {}),
            (6, {"length": 1, "batch": 1}),
            (70, {"length": 9, "cache": 90, "heads": 3, "own": 1}),
        )
    ),
    Case(QUANTIZED, quantized_over_cache(0, mask(3, 9)), reference=attend_quantized),
    *(
        case(*over_cache(dtype=dtype), 4, is_causal=True)
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64)
    ),
    case(*over_cache(), 0, is_causal=True),
    case(*over_cache(), 6),
    case(*over_cache(length=1), 5, is_causal=True, scale=0.5),
    case(*over_cache(), 4, mask(3, 9)),
    case(*over_cache(batch=1, length=70, heads=3, own=1, cache=1100), 900, is_causal=True),
    case(*over_cache(length=0), 4, is_causal=True),
    *(
        Case(
            SDPA_WITH_CACHE,
            (
                query,
                values(2, 3, 2, 8, seed=4),
                values(2, 3, 2, 8, seed=5),
                *caches,
                start,
                3,
            ),
            {"is_causal": True},
            reference=attend_with_cache,
        )
        for query, *caches in [over_cache()]
        for start in (0, 6)
    ),
    *(
        Case(
            UPDATE,
            (values(2, 3, 2, 5, dtype=dtype), values(2, 7, 2, 5, dtype=dtype), start),
            reference=update,
        )
        for dtype in (torch.float32, torch.int8)
        for start in (0, 4)
    ),
    Case(
        UPDATE_AT,
        (values(2, 3, 2, 5), values(2, 7, 2, 5), 0, torch.tensor([[6, 0, 3], [1, 1, 2]])),
        reference=update_at,
    ),
]

OUT = (torch.empty(2, 3, 4, 8),)
NOTHING = (torch.empty(1),)
REFUSALS = [
    Refusal(
        QUANTIZED,
        quantized_over_cache(7),
        "3 places from 7 on do not lie in the cache",
        outputs=OUT,
    ),
    Refusal(
        QUANTIZED,
        (*quantized_over_cache(0)[:8], *[None] * 6),
        "the query needs scales and zero points",
        outputs=OUT,
    ),
    Refusal(
        QUANTIZED,
        (*quantized_over_cache(0)[:9], torch.ones(2, 3, 4, 2), *quantized_over_cache(0)[10:]),
        "scales",
        outputs=OUT,
    ),
    Refusal(
        QUANTIZED, (*quantized_over_cache(0), True), "is_seq_at_dim_2 is not served", outputs=OUT
    ),
    Refusal(SDPA, (*over_cache(), 7), "3 places from 7 on do not lie in the cache", outputs=OUT),
    Refusal(SDPA, (*over_cache(), -1), "do not lie in the cache", outputs=OUT),
    Refusal(SDPA, (*over_cache(own=3), 0), "no multiple", outputs=OUT),
    Refusal(
        UPDATE,
        (values(2, 3, 2, 5), values(2, 7, 3, 5), 0),
        "do not fit into the cache",
        outputs=NOTHING,
    ),
    Refusal(
        UPDATE_AT,
        (values(2, 1, 2, 5), values(2, 7, 2, 5), 0, torch.tensor([[1], [7]])),
        "1 places from 7 on",
        outputs=NOTHING,
    ),
]
