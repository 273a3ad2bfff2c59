"""Operators that take and put elements by index or mask."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from kernels.case import ALL, Case, Refusal, for_dtypes, layouts, make_tensor, specials

WIDE = (*ALL, torch.uint16, torch.uint32, torch.uint64)


def _tensor(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return make_tensor(*shape, dtype=dtype, low=0, seed=seed)


def _index(*shape: int, size: int, dtype: torch.dtype = torch.int64, seed: int = 1) -> torch.Tensor:
    """Indices in [0, size)."""
    return make_tensor(*shape, dtype=dtype, low=0, high=size, seed=seed)


def _signed(*shape: int, size: int, seed: int = 1) -> torch.Tensor:
    """Indices in [-size, size)."""
    return make_tensor(*shape, dtype=torch.int64, low=-size, high=size, seed=seed)


def _mask(*shape: int, seed: int = 1) -> torch.Tensor:
    return make_tensor(*shape, dtype=torch.bool, seed=seed)


def _empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype)


def _along(make: Callable[[torch.Tensor, torch.Tensor, int], tuple[Any, ...]]) -> Iterator[Any]:
    """Arguments of gather and scatter: `make(operand, index, dim)` for shapes and layouts."""
    shape = (4, 5, 3)
    for dim in (0, 1, -1):
        yield make(_tensor(*shape), _index(2, 3, 2, size=shape[dim]), dim)
        yield make(_tensor(*reversed(shape)).permute(2, 1, 0), _index(4, 5, 3, size=3), dim)
        transposed = _index(3, 2, 4, size=shape[dim], dtype=torch.int32).permute(2, 1, 0)
        yield make(_tensor(*shape), transposed, dim)
        yield make(_tensor(*shape), _index(2, 1, 3, size=shape[dim])[:, :, ::2], dim)
    yield make(
        _tensor(4, 5, 3, 2).to(memory_format=torch.channels_last), _index(2, 5, 3, 2, size=3), 2
    )
    yield make(_tensor(6), torch.tensor(5), 0)
    yield make(_tensor(), torch.tensor([0]), 0)
    yield make(_tensor(), torch.tensor(0), -1)
    yield make(_tensor(3, 4), _index(0, 4, size=3), 0)


SHAPES = (5, 7, 3, 4)  # of what the advanced indices below address


def _advanced() -> list[list[torch.Tensor | None]]:
    """Index lists: neighbours and not, broadcast, masks of every rank, empty."""
    return [
        [_signed(6, size=5)],
        [_signed(2, 3, size=5)],
        [None, _signed(6, size=7)],
        [None, None, None, _signed(2, 2, size=4)],
        [_signed(6, size=5), _signed(6, size=7, seed=2)],
        [_signed(2, 1, size=5), _signed(3, size=7)],
        [None, _signed(2, 1, size=7), _signed(3, size=3)],
        [None, _signed(4, size=7), None, _signed(4, size=4)],
        [_signed(3, 1, size=5), None, _signed(1, 2, size=3)],
        [_signed(2, size=5), None, None, _signed(2, size=4)],
        [_signed(1, size=5), _signed(6, size=7), _signed(2, 6, size=3), _signed(size=4)],
        [_index(6, size=5, dtype=torch.int32), None],
        [_signed(3, 2, size=5).t(), _signed(2, 3, size=7)],
        [_mask(5)],
        [_mask(5).to(torch.uint8)],
        [None, _mask(7)],
        [_mask(5, 7)],
        [None, _mask(7, 3)],
        [_mask(5, 7, 3, 4)],
        [_mask(7, 5).t()],
        [_mask(5), None, _signed(1, size=3)],
        [_mask(5, 7), _signed(1, size=3)],
        [_signed(2, 1, size=5), _mask(7)],
        [torch.zeros(5, dtype=torch.bool)],
        [_signed(0, size=5)],
        [None, _signed(2, 0, size=7), None, _signed(0, size=4)],
        [None, torch.tensor(3)],
    ]


SELF = _tensor(*SHAPES)
SELF_CHANNELS_LAST = SELF.contiguous(memory_format=torch.channels_last)
SELF_PERMUTED = _tensor(3, 5, 4, 7).permute(1, 3, 0, 2)


def _values_like(indices: Sequence[torch.Tensor | None], seed: int = 3) -> torch.Tensor:
    return _tensor(*torch.ops.aten.index.Tensor(SELF, indices).shape, seed=seed)


def _unique() -> list[torch.Tensor]:
    """Two index tensors without a repeated pair, for puts whose order must not matter."""
    return [torch.tensor([4, 0, 2])[:, None].expand(3, 2), torch.tensor([-1, 3])]


INDEX = [
    *for_dtypes(
        "aten::index.Tensor_out", WIDE, lambda d: (_tensor(5, 7, dtype=d), [_signed(3, size=5)])
    ),
    *[
        Case("aten::index.Tensor_out", (tensor, indices))
        for indices in _advanced()
        for tensor in (SELF, SELF_CHANNELS_LAST, SELF_PERMUTED)
    ],
    Case("aten::index.Tensor_out", (_tensor(0, 3), [_signed(0, size=5), None])),
    Case("aten::index.Tensor_out", (_tensor(300, 40), [_signed(2000, size=300)])),
]

INDEX_PUT = [
    Case(name, (*arguments, accumulate))
    for name in ("aten::index_put.out", "aten::index_put_")
    for accumulate in (False, True)
    for arguments in [
        *[(_tensor(5, 7, dtype=d), _unique(), _tensor(3, 2, dtype=d, seed=4)) for d in ALL],
        *[
            (tensor, indices, _values_like(indices))
            for indices in _advanced()
            if accumulate
            or any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices)
            for tensor in (SELF, SELF_CHANNELS_LAST)
        ],
        (SELF, [torch.tensor([1, 3])], _tensor(4)),
        (SELF, [None, _mask(7)], _tensor()),
        (SELF, [None, torch.tensor([2, -1])], _tensor(1, 3, 1)),
        (SELF_PERMUTED, [_mask(5, 7)], _tensor(3, 1)),
    ]
]

ALONG = [
    *for_dtypes(
        "aten::gather.out", ALL, lambda d: (_tensor(3, 4, dtype=d), 1, _index(3, 6, size=4))
    ),
    *[
        Case("aten::gather.out", a)
        for a in _along(lambda operand, index, dim: (operand, dim, index))
    ],
    Case("aten::gather.out", (_tensor(3, 4), 1, _index(0, size=4))),
    *for_dtypes(
        "aten::scatter.src_out",
        ALL,
        lambda d: (
            _tensor(3, 4, dtype=d),
            1,
            torch.tensor([[3, 0], [1, 2]]),
            _tensor(2, 2, dtype=d),
        ),
    ),
    *for_dtypes(
        "aten::scatter.value_out",
        ALL,
        lambda d: (_tensor(3, 4, dtype=d), 1, _index(2, 2, size=4), 1),
    ),
    *[
        Case("aten::scatter.value_out", a)
        for a in _along(lambda operand, index, dim: (operand, dim, index, -2.5))
    ],
    *[
        Case("aten::scatter.value_out", (_tensor(3, dtype=dtype), 0, torch.tensor([1]), value))
        for dtype, value in [
            (torch.uint8, -7),
            (torch.int8, 3.75),
            (torch.float16, float("inf")),
            (torch.float64, float("nan")),
            (torch.bool, 0.25),
            (torch.int64, 2**62),
        ]
    ],
    *for_dtypes(
        "aten::scatter_add.out",
        ALL,
        lambda d: (_tensor(3, 4, dtype=d), 0, _index(6, 4, size=3), _tensor(6, 5, dtype=d, seed=2)),
    ),
    *[
        Case("aten::scatter_add.out", a)
        for a in _along(lambda operand, index, dim: (operand, dim, index, _tensor(*index.shape)))
    ],
    Case(
        "aten::scatter_add.out",
        (
            torch.full((1,), 2048.0).half(),
            0,
            torch.zeros(3, dtype=torch.int64),
            torch.ones(3).half(),
        ),
    ),
]


SELECT = [
    *for_dtypes(
        "aten::index_select.out", WIDE, lambda d: (_tensor(4, 5, dtype=d), 1, _index(7, size=5))
    ),
    *[
        Case("aten::index_select.out", (tensor, dim, _index(3, size=3, dtype=dtype)))
        for tensor in (
            _tensor(3, 4, 3),
            _tensor(3, 5, 3).permute(2, 1, 0),
            _tensor(6, 4, 9)[::2, :, 2:5],
        )
        for dim, dtype in ((0, torch.int64), (-1, torch.int32))
    ],
    Case("aten::index_select.out", (_tensor(3, 4), 0, torch.tensor(2))),
    Case("aten::index_select.out", (_tensor(3, 4), 0, _index(0, size=3))),
    Case("aten::index_select.out", (_tensor(), 0, torch.tensor([0]))),
    Case("aten::index_select.out", (SELF_CHANNELS_LAST, 1, _index(2, size=7))),
    *for_dtypes(
        "aten::embedding.out", WIDE, lambda d: (_tensor(9, 5, dtype=d), _index(2, 3, size=9))
    ),
    Case("aten::embedding.out", (_tensor(9, 5), _index(size=9), 3)),
    Case("aten::embedding.out", (_tensor(5, 9).t(), _index(4, size=9, dtype=torch.int32), -1)),
    Case("aten::embedding.out", (_tensor(9, 5), _index(0, 2, size=9))),
    Case("aten::embedding.out", (_tensor(9, 0), _index(3, size=9))),
    Case("aten::embedding.out", (_tensor(9, 70), _index(40, 33, size=9).t(), 2, True, False)),
    *for_dtypes("aten::nonzero.out", ALL, lambda d: (_tensor(5, 7, dtype=d) * _mask(5, 7),)),
    *for_dtypes("aten::nonzero.out", ALL, lambda d: (specials(d),)),
    *[Case("aten::nonzero.out", (tensor.round() * (tensor > 0),)) for tensor in layouts()],
    *for_dtypes("aten::masked_select.out", ALL, lambda d: (_tensor(5, 7, dtype=d), _mask(5, 7))),
    *[Case("aten::masked_select.out", (tensor, tensor > 1)) for tensor in layouts()],
    *[
        Case("aten::masked_select.out", (_tensor(5, 7), _mask(*shape)))
        for shape in [(), (7,), (2, 5, 1)]
    ],
    *for_dtypes(
        "aten::masked_scatter.out",
        ALL,
        lambda d: (_tensor(5, 7, dtype=d), _mask(5, 7), _tensor(6, 6, dtype=d, seed=2)),
    ),
    *[
        Case("aten::masked_scatter.out", (tensor, tensor > 1, tensor.flip(0)))
        for tensor in layouts()
        if tensor.dim() > 0
    ],
    Case("aten::masked_scatter.out", (_tensor(7), _mask(5, 1), _tensor(9, 9).t())),
    *for_dtypes(
        "aten::repeat_interleave.Tensor_out",
        (torch.int32, torch.int64),
        lambda d: (torch.tensor([1, 0, 3, 2], dtype=d),),
    ),
    Case("aten::repeat_interleave.Tensor_out", (_index(9, size=3)[::2],)),
    Case("aten::repeat_interleave.Tensor_out", (_index(0, size=3),)),
    Case("aten::repeat_interleave.Tensor_out", (torch.tensor([2, 1]),), {"output_size": 3}),
]

CASES = [*INDEX, *INDEX_PUT, *ALONG, *SELECT]

BAD_INDEX = torch.tensor([[0, 2], [1, 3]])
REFUSALS = [
    Refusal(
        "aten::gather.out",
        (_tensor(3, 3), 1, BAD_INDEX),
        r"gather: index 3 at position \[1, 1\] is out of range for dimension 1 of size 3",
        outputs=(_empty(2, 2),),
    ),
    Refusal(
        "aten::gather.out", (_tensor(3, 3), 1, -BAD_INDEX), "index -2 at", outputs=(_empty(2, 2),)
    ),
    Refusal("aten::gather.out", (_tensor(1, 3), 1, BAD_INDEX), "larger", outputs=(_empty(2, 2),)),
    Refusal("aten::gather.out", (_tensor(9), 0, BAD_INDEX), "rank", outputs=(_empty(2, 2),)),
    Refusal(
        "aten::gather.out", (_tensor(9, 9), 0, BAD_INDEX.float()), "int64", outputs=(_empty(2, 2),)
    ),
    Refusal(
        "aten::scatter.src_out",
        (_tensor(3, 3), 1, BAD_INDEX, _tensor(2, 2)),
        "index 3",
        outputs=(_empty(3, 3),),
    ),
    Refusal(
        "aten::scatter.src_out",
        (_tensor(5, 5), 1, BAD_INDEX, _tensor(2, 1)),
        "larger",
        outputs=(_empty(5, 5),),
    ),
    Refusal(
        "aten::scatter.src_out",
        (_tensor(5, 5), 1, BAD_INDEX, _tensor(2, 2).int()),
        "dtype",
        outputs=(_empty(5, 5),),
    ),
    *[
        Refusal(
            "aten::scatter.value_out",
            (_tensor(5, dtype=dtype), 0, torch.tensor([1]), value),
            "does not fit",
            outputs=(_empty(5, dtype=dtype),),
        )
        for dtype, value in [
            (torch.uint8, 300),
            (torch.uint8, -1.5),
            (torch.int64, 2.0**63),
            (torch.float16, 1e6),
            (torch.int32, float("nan")),
        ]
    ],
    Refusal(
        "aten::scatter_add.out",
        (_tensor(3, 3), 0, BAD_INDEX, _tensor(2, 2)),
        "index 3",
        outputs=(_empty(3, 3),),
    ),
    Refusal(
        "aten::index.Tensor_out",
        (_tensor(3, 3), [None, torch.tensor([0, -4])]),
        r"-4 at position \[1\] is out of range for dimension 1 of size 3 \(expected -3 to 2\)",
        outputs=(_empty(3, 2),),
    ),
    Refusal(
        "aten::index.Tensor_out", (_tensor(3), [None, BAD_INDEX]), "too many", outputs=(_empty(3),)
    ),
    Refusal("aten::index.Tensor_out", (_tensor(3), [_mask(4)]), "fit", outputs=(_empty(3),)),
    Refusal(
        "aten::index.Tensor_out", (_tensor(3), [_mask(3, 1)]), "too many", outputs=(_empty(3),)
    ),
    Refusal("aten::index.Tensor_out", (_tensor(3), [_tensor(2)]), "int64", outputs=(_empty(2),)),
    Refusal(
        "aten::index.Tensor_out",
        (_tensor(3, 3), [torch.tensor([0, 1, 2]), torch.tensor([0, 1])]),
        "broadcast",
        outputs=(_empty(3),),
    ),
    Refusal(
        "aten::index_put.out",
        (_tensor(5), [torch.tensor([0, 1])], _tensor(3)),
        "broadcast",
        outputs=(_empty(5),),
    ),
    Refusal(
        "aten::index_put.out",
        (_tensor(5), [torch.tensor([0, 5])], _tensor(2)),
        "index 5",
        outputs=(_empty(5),),
    ),
    Refusal("aten::index_put_", (_tensor(5), [torch.tensor([0])], _tensor(1).int()), "dtype"),
    Refusal(
        "aten::index_select.out",
        (_tensor(3), 0, torch.tensor([0, -1])),
        "index -1",
        outputs=(_empty(2),),
    ),
    Refusal(
        "aten::index_select.out", (_tensor(3), 0, BAD_INDEX), "rank 0 or 1", outputs=(_empty(2),)
    ),
    Refusal(
        "aten::embedding.out",
        (_tensor(3, 2), torch.tensor([3])),
        "index 3",
        outputs=(_empty(1, 2),),
    ),
    Refusal(
        "aten::embedding.out", (_tensor(3), torch.tensor([0])), "rank 2", outputs=(_empty(1, 1),)
    ),
    Refusal("aten::nonzero.out", (_tensor(3),), "int64", outputs=(_empty(3, 1),)),
    Refusal(
        "aten::masked_select.out",
        (_tensor(3), _tensor(3)),
        "mask must be bool",
        outputs=(_empty(3),),
    ),
    Refusal(
        "aten::masked_select.out", (_tensor(3), _mask(2)), "do not broadcast", outputs=(_empty(3),)
    ),
    Refusal(
        "aten::masked_scatter.out",
        (_tensor(3), torch.ones(3).bool(), _tensor(2)),
        "takes 3 elements, the source has 2",
        outputs=(_empty(3),),
    ),
    Refusal(
        "aten::repeat_interleave.Tensor_out",
        (torch.tensor([1, -1]),),
        "negative, got -1 at position 1",
        outputs=(_empty(1, dtype=torch.int64),),
    ),
]
