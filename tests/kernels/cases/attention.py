"""Scaled dot product attention, which only etlab's runtime has whole."""

from typing import Any

import torch
from torch.nn import functional

from kernels.case import FLOATS, Case, Refusal, make_tensor

ATTENTION = (
    "aten::scaled_dot_product_attention.out(Tensor query, Tensor key, Tensor value,"
    " Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None,"
    " bool enable_gqa=False, Tensor(a!) out) -> Tensor(a!)"
)
NAN, INF = float("nan"), float("inf")
_eager = functional.scaled_dot_product_attention


def values(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return make_tensor(*shape, dtype=dtype, low=-2, high=2, seed=seed)


def case(*args: Any, **options: Any) -> Case:
    return Case(ATTENTION, args, options, reference=_eager)


def heads(
    *batch: int, rows: int = 5, keys: int = 7, depth: int = 8, width: int = 6, **options: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Query, key and value."""
    return (
        values(*batch, rows, depth, **options),
        values(*batch, keys, depth, seed=1, **options),
        values(*batch, keys, width, seed=2, **options),
    )


def bool_mask(*shape: int) -> torch.Tensor:
    """With a row that hides everything."""
    mask = make_tensor(*shape, dtype=torch.bool)
    mask[..., 2, :] = False
    return mask


def float_mask(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.where(bool_mask(*shape), values(*shape, seed=3), -INF).to(dtype)


def _with(tensor: torch.Tensor, place: tuple[int, ...], value: float) -> torch.Tensor:
    changed = tensor.clone()
    changed[place] = value
    return changed


Q, K, V = heads(2, 4)

# Few queries and many, blocks of keys that end midway, some of which a mask hides completely.
FAST_CASES = [
    case(*heads(2, rows=rows, keys=keys, depth=depth, width=width), *mask, **options)
    for rows, keys, depth, width in [(1, 700, 19, 33), (3, 5, 4, 1), (70, 1100, 17, 21)]
    for mask, options in [
        ((), {}),
        ((), {"is_causal": True}),
        ((float_mask(rows, keys) if rows > 2 else values(1, keys),), {"scale": 0.7}),
        ((torch.arange(keys) >= 520,), {}),
        ((torch.arange(keys) < 4,), {}),
    ]
]
CASES = [
    *FAST_CASES,
    case(Q, K, V),
    case(Q[0], K[0], V[0]),
    case(Q[0, 0], K[0, 0], V[0, 0]),
    case(*heads(2, 1, 3)),
    case(Q, K, V, is_causal=True),
    case(*heads(2, rows=7, keys=4), is_causal=True),
    case(Q, K, V, scale=0.3),
    case(Q, K, V, scale=-2.0),
    case(Q, K, V, bool_mask(2, 4, 5, 7)),
    case(Q, K, V, bool_mask(5, 7)),
    case(Q, K, V, bool_mask(2, 1, 5, 7)),
    case(Q, K, V, make_tensor(1, 1, 1, 7, dtype=torch.bool)),
    case(Q, K, V, float_mask(2, 4, 5, 7)),
    case(Q, K, V, float_mask(5, 7)),
    case(Q, K, V, float_mask(5, 1)),
    case(Q, K[:, :2], V[:, :2], enable_gqa=True),
    case(Q, K[:, :1], V[:, :2], enable_gqa=True),
    case(Q, K[:, :2], V[:, :2], float_mask(5, 7), enable_gqa=True),
    case(Q, K[:, :2], V[:, :2], float_mask(4, 5, 7), enable_gqa=True),
    case(Q, K[:1], V[:1]),
    case(Q[:1], K, V),
    case(*(t.transpose(1, 2).contiguous().transpose(1, 2) for t in (Q, K, V))),
    case(*(t.mT.contiguous().mT for t in (Q, K, V)), bool_mask(7, 7)[:5]),
    case(_with(Q, (0, 0, 1, 2), NAN), K, V),
    case(Q, _with(K, (0, 0, 1, 2), NAN), V, bool_mask(5, 7)),
    case(Q, _with(K, (0, 0, 1, 2), INF), V),
    case(Q, K, _with(V, (0, 0, 1, 2), NAN)),
    case(Q, K, V, _with(float_mask(5, 7), (1, 2), NAN)),
    case(Q * 100, K * 100, V),
    case(*heads(2, keys=0)),
    case(*heads(2, rows=0)),
    case(*heads(2, width=0)),
    case(*heads(2, depth=0)),
    case(*heads(0, 3)),
    case(*heads(3, rows=70, keys=130, depth=33, width=35), bool_mask(70, 130)),
    case(*heads(rows=150, keys=150, depth=16, width=16), is_causal=True),
    *[case(*heads(2, dtype=dtype), float_mask(5, 7, dtype=dtype)) for dtype in FLOATS],
    *[case(*heads(2, dtype=dtype), is_causal=True) for dtype in FLOATS],
    case(*heads(2, dtype=torch.float16), float_mask(5, 7)),
]


def _refused(match: str, *args: Any, outputs: Any = (2, 4, 5, 6), **options: Any) -> Refusal:
    return Refusal(ATTENTION, args, match, options, outputs=(torch.empty(outputs),))


REFUSALS = [
    _refused("do not go together", Q, K[..., :5], V),
    _refused("do not go together", Q, K, V[:, :, :5]),
    _refused("do not broadcast", Q, K, V, bool_mask(5, 6)),
    _refused("does not broadcast", Q, K, V, bool_mask(3, 2, 4, 5, 7)),
    _refused("exclude each other", Q, K, V, bool_mask(5, 7), is_causal=True),
    _refused("dropout 0.5", Q, K, V, dropout_p=0.5),
    _refused("mask of bool", Q, K, V, make_tensor(5, 7, dtype=torch.int64)),
    _refused("mask of bool", Q, K, V, float_mask(5, 7, dtype=torch.float64)),
    _refused("no multiple", Q, K[:, :3], V, enable_gqa=True),
    _refused("broadcast", Q, K[:, :3], V),
    _refused("every tensor", Q, K.double(), V),
    _refused("every tensor", Q.long(), K, V),
    _refused("expected matrices", Q, K, V[0, 0, 0]),
    _refused("the output", Q, K, V, outputs=(5, 6)),
    _refused("dimension of heads", Q[0, 0], K[0, 0], V[0, 0], outputs=(5, 6), enable_gqa=True),
]
