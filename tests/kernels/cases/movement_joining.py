"""Operators that join, overwrite and pad tensors."""

from typing import Any

import torch

from kernels.case import ALL, FLOATS, INTEGERS, Case, Refusal, for_dtypes, make_tensor, specials

WIDE = (*ALL, torch.uint16, torch.uint32, torch.uint64)


def _tensor(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return make_tensor(*shape, dtype=dtype, low=0, seed=seed)


def _channels_last(*shape: int) -> torch.Tensor:
    return _tensor(*shape).contiguous(memory_format=torch.channels_last)


def _empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype)


def _triple(dtype: torch.dtype) -> list[torch.Tensor]:
    return [_tensor(2, size, dtype=dtype, seed=size) for size in (3, 1, 4)]


JOINS = [
    *for_dtypes("aten::cat.out", WIDE, lambda dtype: (_triple(dtype), 1)),
    *[
        Case("aten::cat.out", ([_tensor(3, 4), _tensor(3, 4).to(dtype)], dim))
        for dtype in ALL
        for dim in (0, -1)
    ],
    *[Case("aten::cat.out", ([_tensor(2).to(a), _tensor(3).to(b)],)) for a in ALL for b in ALL],
    Case("aten::cat.out", ([_tensor(3)],)),
    Case("aten::cat.out", ([_tensor(0), _tensor(2, 3), _tensor(0), _tensor(1, 3)],)),
    Case("aten::cat.out", ([_tensor(0), _tensor(0)],)),
    Case("aten::cat.out", ([_tensor(2, 0, 3), _tensor(2, 2, 3), _tensor(2, 1, 3)], -2)),
    Case("aten::cat.out", ([_tensor(3, 2).t(), _tensor(5, 7)[::2, ::2][:2, :3]],)),
    Case("aten::cat.out", ([_channels_last(2, 3, 4, 5), _channels_last(2, 2, 4, 5)], 1)),
    Case("aten::cat.out", ([_tensor(2, 3, 40, 50), _channels_last(2, 3, 40, 50)], 1)),
    *for_dtypes(
        "aten::stack.out", WIDE, lambda d: ([_tensor(2, 3, dtype=d, seed=s) for s in (0, 1)],)
    ),
    *[
        Case(
            "aten::stack.out", ([_tensor(2, 3), _tensor(3, 2).t(), _tensor(2, 1).expand(2, 3)], dim)
        )
        for dim in (0, 1, 2, -1, -3)
    ],
    Case("aten::stack.out", ([_tensor(), _tensor(seed=1)], -1)),
    Case("aten::stack.out", ([_tensor(2, dtype=torch.int32), _tensor(2)],)),
    Case("aten::stack.out", ([_tensor(0, 3), _tensor(0, 3)], 1)),
    *for_dtypes(
        "aten::slice_scatter.out",
        WIDE,
        lambda d: (_tensor(5, 6, dtype=d), _tensor(5, 2, dtype=d, seed=1), 1, 1, 5, 2),
    ),
    Case("aten::slice_scatter.out", (_tensor(5, 6), _tensor(2, 6, dtype=torch.float64), 0, -2)),
    Case("aten::slice_scatter.out", (_tensor(6, 5).t(), _tensor(6, 5).t(), 1)),
    Case("aten::slice_scatter.out", (_tensor(5, 6), _tensor(0, 6), 0, 4, 2)),
    *for_dtypes(
        "aten::select_scatter.out",
        WIDE,
        lambda d: (_tensor(5, 6, dtype=d), _tensor(5, dtype=d, seed=1), 1, -2),
    ),
    Case("aten::select_scatter.out", (_tensor(5, 6), _tensor(6, dtype=torch.int64), 0, 3)),
    Case("aten::select_scatter.out", (_channels_last(2, 3, 4, 5), _tensor(2, 4, 5), 1, 0)),
]


def _paddings(operator: str, *calls: tuple[Any, ...], dtypes: Any = WIDE) -> list[Case]:
    """Every dtype for the first call; batched, unbatched and permuted inputs for all."""
    spatial = len(calls[0][0]) // 2
    shape = (4, 5, 7)[3 - spatial :]
    cases = for_dtypes(operator, dtypes, lambda d: (_tensor(3, *shape, dtype=d), *calls[0]))
    for call in calls:
        cases.append(Case(operator, (_tensor(3, *shape), *call)))
        cases.append(Case(operator, (_tensor(2, 3, *shape), *call)))
        flipped = _tensor(2, *reversed(shape), 3).permute(0, *range(spatial + 1, 0, -1))
        cases.append(Case(operator, (flipped, *call)))
    return cases


REFLECTED = (torch.int64, *FLOATS)
PADS = [
    *_paddings("aten::constant_pad_nd.out", ([1, 2], 3), ([0, 0], 3), ([-1, 2],), ([-3, -4], 1.5)),
    *_paddings(
        "aten::constant_pad_nd.out", ([1, 2, 0, 3], 2), ([-1, -1, 2, -3],), ([2, 0, -5, 0],)
    ),
    *_paddings("aten::constant_pad_nd.out", ([1, 0, 0, 1, 2, -1], 2)),
    Case("aten::constant_pad_nd.out", (_tensor(3), [], 2)),
    Case("aten::constant_pad_nd.out", (_tensor(0, 3), [1, 1, 2, 1], 7)),
    Case(
        "aten::constant_pad_nd.out",
        (
            _tensor(5),
            [
                -2,
                9,
            ],
            float("-inf"),
        ),
    ),
    Case("aten::constant_pad_nd.out", (_tensor(2, 30, 50, 60), [1, 1, 1, 1], 0)),
    *[
        Case("aten::constant_pad_nd.out", (specials(dtype), [1, 1], value))
        for dtype in (*INTEGERS, *FLOATS)
        for value in (True, 0, 5)
    ],
    *_paddings(
        "aten::reflection_pad1d.out",
        ([2, 3],),
        ([0, 6],),
        ([-1, 2],),
        ([-2, -3],),
        dtypes=REFLECTED,
    ),
    *_paddings("aten::reflection_pad2d.out", ([2, 3, 1, 4],), ([-1, 2, 3, -2],), dtypes=REFLECTED),
    *_paddings(
        "aten::reflection_pad3d.out",
        ([2, 3, 1, 4, 3, 0],),
        ([0, 0, -1, 2, 1, -2],),
        dtypes=REFLECTED,
    ),
    *_paddings(
        "aten::replication_pad1d.out",
        ([2, 3],),
        ([0, 16],),
        ([-1, 2],),
        ([-2, -3],),
        dtypes=REFLECTED,
    ),
    *_paddings("aten::replication_pad2d.out", ([2, 3, 1, 9],), ([-1, 2, 3, -2],), dtypes=REFLECTED),
    *_paddings(
        "aten::replication_pad3d.out",
        ([2, 3, 1, 4, 3, 0],),
        ([0, 0, -1, 2, 1, -2],),
        dtypes=REFLECTED,
    ),
    Case("aten::reflection_pad2d.out", (_channels_last(2, 3, 4, 5), [1, 1, 1, 1])),
    Case("aten::replication_pad2d.out", (_tensor(0, 3, 4, 5), [1, 1, 1, 1])),
]

CASES = [*JOINS, *PADS]

REFUSALS = [
    Refusal("aten::cat.out", ([],), "at least one", outputs=(_empty(1),)),
    Refusal("aten::cat.out", ([_tensor(), _tensor()],), "0-d", outputs=(_empty(2),)),
    Refusal(
        "aten::cat.out",
        ([_tensor(2, 3), _tensor(2, 4)],),
        r"tensor 1 is float32\[2, 4\], which may differ .* in dimension 0 only",
        outputs=(_empty(4, 3),),
    ),
    Refusal("aten::cat.out", ([_tensor(2), _tensor(1, 1)],), "tensor 1", outputs=(_empty(3),)),
    Refusal("aten::cat.out", ([_tensor(2)], 1), "out of range", outputs=(_empty(2),)),
    Refusal(
        "aten::stack.out", ([_tensor(2), _tensor(3)],), "must have sizes", outputs=(_empty(2, 2),)
    ),
    Refusal(
        "aten::slice_scatter.out",
        (_tensor(5), _tensor(3), 0, 1, 3),
        "must have sizes",
        outputs=(_empty(5),),
    ),
    Refusal(
        "aten::select_scatter.out",
        (_tensor(5, 2), _tensor(2), 0, 5),
        "index 5",
        outputs=(_empty(5, 2),),
    ),
    Refusal("aten::constant_pad_nd.out", (_tensor(5), [1]), "pairs", outputs=(_empty(6),)),
    Refusal("aten::constant_pad_nd.out", (_tensor(5), [1, 1, 1, 1]), "pairs", outputs=(_empty(7),)),
    Refusal("aten::constant_pad_nd.out", (_tensor(5), [-3, -3]), "remove", outputs=(_empty(0),)),
    Refusal("aten::constant_pad_nd.out", (_tensor(3), [-5, 4]), "remove", outputs=(_empty(2),)),
    Refusal(
        "aten::constant_pad_nd.out", (_tensor(5), [2**63 - 1, 1]), "size", outputs=(_empty(0),)
    ),
    Refusal(
        "aten::constant_pad_nd.out", (_tensor(5), [-(2**63), 0]), "range", outputs=(_empty(0),)
    ),
    Refusal(
        "aten::constant_pad_nd.out",
        (_tensor(5).to(torch.uint8), [1, 0], 256),
        "does not fit uint8",
        outputs=(_empty(6, dtype=torch.uint8),),
    ),
    Refusal(
        "aten::reflection_pad1d.out", (_tensor(1, 3), [3, 0]), "smaller", outputs=(_empty(1, 6),)
    ),
    Refusal("aten::reflection_pad1d.out", (_tensor(3), [1, 0]), "dimensions", outputs=(_empty(4),)),
    Refusal(
        "aten::reflection_pad1d.out", (_tensor(1, 3), [1]), "2 paddings", outputs=(_empty(1, 4),)
    ),
    Refusal(
        "aten::replication_pad1d.out", (_tensor(1, 3), [-2, -2]), "nothing", outputs=(_empty(1, 3),)
    ),
    Refusal(
        "aten::replication_pad1d.out",
        (_tensor(1, 3), [2**63 - 1, 2**63 - 1]),
        "no valid size",
        outputs=(_empty(1, 3),),
    ),
    Refusal(
        "aten::replication_pad1d.out", (_tensor(1, 0), [1, 0]), "empty", outputs=(_empty(1, 1),)
    ),
]
