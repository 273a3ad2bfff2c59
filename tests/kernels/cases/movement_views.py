"""Operators that only rearrange elements: views made into copies."""

from collections.abc import Sequence
from typing import Any

import torch

from kernels.case import ALL, Case, Refusal, for_dtypes, layouts, make_tensor

WIDE = (*ALL, torch.uint16, torch.uint32, torch.uint64)


def _tensor(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return make_tensor(*shape, dtype=dtype, low=0, seed=seed)


def _channels_last(*shape: int) -> torch.Tensor:
    return _tensor(*shape).contiguous(memory_format=torch.channels_last)


def _empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype)


def _variants(
    operator: str,
    shape: Sequence[int],
    *calls: tuple[Any, ...],
    dtypes: Sequence[torch.dtype] = WIDE,
) -> list[Case]:
    """Every dtype for the first call; contiguous, permuted and strided inputs for all of them."""
    cases = for_dtypes(operator, dtypes, lambda dtype: (_tensor(*shape, dtype=dtype), *calls[0]))
    flipped = list(reversed(range(len(shape))))
    for call in calls:
        cases.append(Case(operator, (_tensor(*shape), *call)))
        reversed_layout = _tensor(*reversed(shape)).permute(flipped)
        cases.append(Case(operator, (reversed_layout, *call)))
        wide = _tensor(*[2 * size + 1 for size in shape])
        sliced = wide[tuple(slice(1, None, 2) for _ in shape)]
        cases.append(Case(operator, (sliced, *call)))
    return cases


IMAGE = _channels_last(2, 3, 5, 7)
LARGE = _tensor(70, 90, 33)

CASES = [
    *_variants(
        "aten::view_copy.out",
        (4, 6, 5),
        ([6, 20],),
        ([120],),
        ([-1, 3],),
        ([4, 2, 3, 5],),
        ([8, 15],),
        ([5, 6, 4],),
        ([2, -1, 1, 10],),
        ([4, 6, 5],),
    ),
    Case("aten::view_copy.out", (_tensor(), [1, 1])),
    Case("aten::view_copy.out", (_tensor(1, 1), [])),
    Case("aten::view_copy.out", (_tensor(0, 3), [5, 0])),
    Case("aten::view_copy.out", (_tensor(2, 0), [-1, 2])),
    Case("aten::view_copy.out", (LARGE.permute(2, 0, 1), [90, 33, 70])),
    *_variants("aten::permute_copy.out", (2, 3, 5), ([2, 0, 1],), ([-1, -2, -3],), ([0, 1, 2],)),
    Case("aten::permute_copy.out", (IMAGE, [0, 2, 3, 1])),
    Case("aten::permute_copy.out", (_tensor(2, 5, 7, 3), [0, 3, 1, 2])),
    Case("aten::permute_copy.out", (_tensor(), [])),
    Case("aten::permute_copy.out", (_tensor(3, 0, 2), [1, 2, 0])),
    Case("aten::permute_copy.out", (LARGE, [2, 1, 0])),
    Case("aten::permute_copy.out", (LARGE, [1, 0, 2])),
    Case("aten::permute_copy.out", (LARGE, [0, 2, 1])),
    *_variants("aten::transpose_copy.int_out", (2, 3, 5), (0, 2), (-1, 1), (1, 1)),
    Case("aten::transpose_copy.int_out", (_tensor(), 0, -1)),
    Case("aten::transpose_copy.int_out", (_tensor(131, 67), 0, 1)),
    Case("aten::transpose_copy.int_out", (IMAGE, 1, 3)),
    *_variants("aten::t_copy.out", (3, 5), ()),
    *[Case("aten::t_copy.out", (_tensor(*shape),)) for shape in [(), (3,), (0, 3), (1, 4)]],
    *_variants("aten::squeeze_copy.dim_out", (3, 1, 5), (1,), (0,), (-2,)),
    Case("aten::squeeze_copy.dim_out", (_tensor(), 0)),
    *_variants("aten::squeeze_copy.dims_out", (1, 3, 1), ([0, 2],), ([-1],), ([1],), ([],)),
    *_variants("aten::squeeze_copy.out", (1, 3, 1), ()),
    *_variants("aten::unsqueeze_copy.out", (3, 5), (0,), (-1,), (1,), (2,)),
    Case("aten::unsqueeze_copy.out", (_tensor(), -1)),
    *_variants("aten::expand_copy.out", (3, 1), ([3, 5],), ([2, -1, 5],), ([3, 0],), ([-1, -1],)),
    Case("aten::expand_copy.out", (_tensor(), [2, 3])),
    Case("aten::expand_copy.out", (_tensor(5), [400, 300, 5])),
    *_variants("aten::repeat.out", (2, 3), ([2, 1],), ([1, 2, 3],), ([0, 2],), ([1, 1],)),
    Case("aten::repeat.out", (_tensor(), [3])),
    Case("aten::repeat.out", (_tensor(), [])),
    Case("aten::repeat.out", (_channels_last(1, 3, 2, 2), [2, 1, 3, 2])),
    *_variants("aten::split_copy.Tensor_out", (5, 4), (2,), (2, 1), (9, -2), (5,), (1, -1)),
    Case("aten::split_copy.Tensor_out", (_tensor(0, 3), 0)),
    Case("aten::split_copy.Tensor_out", (_tensor(0, 3), 2)),
    *_variants("aten::split_with_sizes_copy.out", (5, 4), ([2, 3],), ([0, 1, 3], -1)),
    *_variants("aten::unbind_copy.int_out", (3, 4), (), (1,), (-2,)),
    *_variants(
        "aten::slice_copy.Tensor_out",
        (5, 7),
        (0, 1, 4),
        (1, None, None, 2),
        (-1, -4, -1),
        (1, 5, 2),
        (0, -100, 100),
        (1, 2, 2**63 - 1, 3),
        (0, 0, 5, 2**40),
    ),
    *_variants("aten::narrow_copy.out", (5, 7), (0, 1, 3), (1, -3, 2), (-1, 7, 0)),
    *_variants("aten::select_copy.int_out", (3, 5), (0, 1), (1, -1), (-2, -3)),
    *_variants("aten::diagonal_copy.out", (3, 5), (), (1,), (-2,), (4, 1, 0), (9,), (-9,)),
    Case("aten::diagonal_copy.out", (_tensor(2, 3, 5, 4), 1, -1, 1)),
    *_variants("aten::unfold_copy.out", (3, 7), (1, 3, 2), (0, 2, 1), (-1, 7, 5), (1, 0, 1)),
    Case("aten::unfold_copy.out", (_tensor(), 0, 1, 1)),
    Case("aten::unfold_copy.out", (_tensor(), 0, 0, 1)),
    *for_dtypes(
        "aten::as_strided_copy.out", WIDE, lambda d: (_tensor(4, 5, dtype=d), [3, 2], [5, 2], 1)
    ),
    Case("aten::as_strided_copy.out", (_tensor(12), [2, 3], [0, 1])),
    Case("aten::as_strided_copy.out", (_tensor(12), [3, 3, 2], [1, 2, 4], 1)),
    Case("aten::as_strided_copy.out", (_tensor(12), [], [], 11)),
    Case("aten::as_strided_copy.out", (_tensor(12), [0, 3], [5, 100])),
    Case("aten::as_strided_copy.out", (_tensor(12), [1, 3], [2**62, 1])),
    *_variants("aten::flip.out", (2, 3, 5), ([0],), ([-1, 0],), ([],), ([0, 1, 2],)),
    *[Case("aten::flip.out", (tensor, [0])) for tensor in layouts()],
    *_variants(
        "aten::roll.out", (3, 4, 5), ([1], [0]), ([2, -3], [0, -1]), ([7],), ([1, 2], [1, 1])
    ),
    *[Case("aten::roll.out", (tensor, [2])) for tensor in layouts()],
    Case("aten::roll.out", (IMAGE, [5])),
    *for_dtypes("aten::tril.out", ALL, lambda dtype: (_tensor(4, 6, dtype=dtype),)),
    *for_dtypes("aten::triu.out", ALL, lambda dtype: (_tensor(4, 6, dtype=dtype),)),
    *[
        Case(f"aten::{name}.out", (tensor, diagonal))
        for name in ("tril", "triu")
        for diagonal in (0, 1, -2, 100, -100)
        for tensor in (_tensor(4, 6), _tensor(2, 6, 3), _tensor(5, 3).t(), _tensor(0, 3), IMAGE)
    ],
    *_variants("aten::pixel_shuffle.out", (2, 12, 3, 5), (2,), (1,), dtypes=ALL),
    Case("aten::pixel_shuffle.out", (_channels_last(1, 18, 2, 3), 3)),
    Case("aten::pixel_shuffle.out", (_tensor(4, 0, 2), 2)),
    *_variants("aten::pixel_unshuffle.out", (2, 3, 4, 6), (2,), (1,), dtypes=ALL),
    Case("aten::pixel_unshuffle.out", (_tensor(2, 2, 3, 6, 9), 3)),
]

REFUSALS = [
    Refusal("aten::view_copy.out", (_tensor(6), [4]), "holds 4 elements", outputs=(_empty(4),)),
    Refusal("aten::view_copy.out", (_tensor(6), [-1, -1]), "only one", outputs=(_empty(6),)),
    Refusal("aten::view_copy.out", (_tensor(6), [-1, 4]), "in place of -1", outputs=(_empty(6),)),
    Refusal("aten::view_copy.out", (_tensor(6), [-2, -3]), "no valid size", outputs=(_empty(6),)),
    Refusal(
        "aten::view_copy.out",
        (_tensor(6), [2**62, 4]),
        "no valid size",
        outputs=(_empty(6),),
    ),
    Refusal("aten::view_copy.out", (_tensor(6), [6]), "dtype", outputs=(_empty(6).double(),)),
    Refusal("aten::permute_copy.out", (_tensor(2, 3), [0, 0]), "twice", outputs=(_empty(2, 2),)),
    Refusal("aten::permute_copy.out", (_tensor(2, 3), [0]), "does not order", outputs=(_empty(2),)),
    Refusal(
        "aten::permute_copy.out", (_tensor(2, 3), [0, 2]), "out of range", outputs=(_empty(2, 3),)
    ),
    Refusal(
        "aten::transpose_copy.int_out", (_tensor(2), 0, 1), "out of range", outputs=(_empty(2),)
    ),
    Refusal("aten::t_copy.out", (_tensor(2, 1, 1),), "at most 2", outputs=(_empty(2, 1, 1),)),
    Refusal("aten::squeeze_copy.dims_out", (_tensor(1, 1), [0, -2]), "twice", outputs=(_empty(1),)),
    Refusal("aten::unsqueeze_copy.out", (_tensor(2), 2), "out of range", outputs=(_empty(2, 1),)),
    Refusal("aten::expand_copy.out", (_tensor(3), [4]), "not 1", outputs=(_empty(4),)),
    Refusal("aten::expand_copy.out", (_tensor(3), [-1, 3]), "negative", outputs=(_empty(1, 3),)),
    Refusal("aten::expand_copy.out", (_tensor(3, 1), [3]), "fewer", outputs=(_empty(3),)),
    Refusal("aten::repeat.out", (_tensor(3), [-1]), "negative", outputs=(_empty(3),)),
    Refusal("aten::repeat.out", (_tensor(3), [2**62]), "no valid size", outputs=(_empty(3),)),
    Refusal("aten::split_copy.Tensor_out", (_tensor(5), 2), "3 outputs", outputs=(_empty(2),)),
    Refusal("aten::split_copy.Tensor_out", (_tensor(5), 0), "split size 0", outputs=(_empty(5),)),
    Refusal(
        "aten::split_with_sizes_copy.out", (_tensor(5), [2, 2]), "add up", outputs=(_empty(2),)
    ),
    Refusal(
        "aten::split_with_sizes_copy.out", (_tensor(5), [-1, 6]), "negative", outputs=(_empty(5),)
    ),
    Refusal("aten::unbind_copy.int_out", (_tensor(),), "0-d", outputs=(_empty(),)),
    Refusal("aten::slice_copy.Tensor_out", (_tensor(3), 0, 0, 3, 0), "step", outputs=(_empty(3),)),
    Refusal("aten::slice_copy.Tensor_out", (_tensor(),), "0-d", outputs=(_empty(),)),
    Refusal("aten::narrow_copy.out", (_tensor(5), 0, 3, 3), "leave", outputs=(_empty(3),)),
    Refusal("aten::narrow_copy.out", (_tensor(5), 0, 6, 0), "out of range", outputs=(_empty(0),)),
    Refusal(
        "aten::select_copy.int_out",
        (_tensor(2, 3), 1, 3),
        "index 3 is out of range for dimension 1 of size 3",
        outputs=(_empty(2),),
    ),
    Refusal("aten::select_copy.int_out", (_tensor(), 0, 0), "0-d", outputs=(_empty(),)),
    Refusal("aten::as_strided_copy.out", (_tensor(5), [3], [3]), "beyond", outputs=(_empty(3),)),
    Refusal(
        "aten::as_strided_copy.out", (_tensor(5), [3], [2**62]), "beyond", outputs=(_empty(3),)
    ),
    Refusal("aten::as_strided_copy.out", (_tensor(5), [1], [1], 5), "beyond", outputs=(_empty(1),)),
    Refusal(
        "aten::as_strided_copy.out", (_tensor(5), [2], [-1], 3), "negative", outputs=(_empty(2),)
    ),
    Refusal("aten::diagonal_copy.out", (_tensor(3),), "at least 2", outputs=(_empty(3),)),
    Refusal("aten::diagonal_copy.out", (_tensor(3, 3), 0, 1, -1), "same", outputs=(_empty(3),)),
    Refusal("aten::unfold_copy.out", (_tensor(3), 0, 4, 1), "fit", outputs=(_empty(1, 4),)),
    Refusal("aten::unfold_copy.out", (_tensor(3), 0, 1, 0), "step", outputs=(_empty(3, 1),)),
    Refusal("aten::flip.out", (_tensor(3), [0, -1]), "twice", outputs=(_empty(3),)),
    Refusal("aten::roll.out", (_tensor(3), [1, 2], [0]), "2 shifts", outputs=(_empty(3),)),
    Refusal("aten::roll.out", (_tensor(3), [1, 2]), "2 shifts", outputs=(_empty(3),)),
    Refusal("aten::tril.out", (_tensor(3),), "at least 2", outputs=(_empty(3),)),
    Refusal("aten::pixel_shuffle.out", (_tensor(3, 2, 2), 2), "divide", outputs=(_empty(3, 2, 2),)),
    Refusal(
        "aten::pixel_shuffle.out", (_tensor(4, 2, 2), -2), "positive", outputs=(_empty(1, 4, 4),)
    ),
    Refusal(
        "aten::pixel_unshuffle.out", (_tensor(1, 3, 2), 2), "divide", outputs=(_empty(4, 1, 1),)
    ),
]
