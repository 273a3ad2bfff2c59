"""Operators on images: pooling, resizing, sampling by a grid."""

from typing import Any

import torch

from kernels.case import FLOATS, REAL, Case, Refusal, for_dtypes, make_tensor

NAN, INF = float("nan"), float("inf")


def _images(dtype: torch.dtype, height: int = 7, width: int = 9) -> list[torch.Tensor]:
    """An image in every layout: contiguous, channels-last, transposed, without a batch, empty."""
    high = 256 if dtype == torch.uint8 else 9
    image = make_tensor(2, 3, height, width, dtype=dtype, high=high)
    wide = make_tensor(2, 3, width, height, dtype=dtype, high=high, seed=1)
    return [
        image,
        image.contiguous(memory_format=torch.channels_last),
        wide.transpose(2, 3),
        make_tensor(1, 6, height, width, dtype=dtype, high=high),
        image[:0],
    ]


def _with_specials(dtype: torch.dtype) -> torch.Tensor:
    """NaN alone and several in a window, a row of -Inf, +Inf."""
    image = make_tensor(1, 3, 7, 9, dtype=dtype)
    image[0, 0, 1, 1] = NAN
    image[0, 1, 0, :] = -INF
    image[0, 1, 5, 5] = INF
    image[0, 2, 4:6, 3:5] = NAN
    return image


# kernel, stride, padding, dilation, ceil_mode
_MAX_POOLS: list[tuple[Any, ...]] = [
    ([2, 2],),
    ([3, 3], [2, 2], [1, 1]),
    ([3], [1], [1], [2]),
    ([3, 2], [2, 1], [1, 0], [1, 2], True),
    ([2, 2], [2, 2], [0, 0], [1, 1], True),
    ([3, 3], [3, 3], [1, 1], [1, 1], True),
]
# kernel, stride, padding, ceil_mode, count_include_pad, divisor
_MEAN_POOLS: list[tuple[Any, ...]] = [
    ([2, 2],),
    ([3, 3], [2, 2], [1, 1]),
    ([3, 3], [2, 2], [1, 1], True),
    ([3, 3], [2, 2], [1, 1], True, False),
    ([3, 2], [2, 3], [1, 0], True, True, 5),
    ([3, 2], [2, 3], [1, 0], False, True, -1),
    ([2], [3], [1], True),
]
_OUTPUT_SIZES = [[1, 1], [3, 4], [7, 9], [10, 2]]

_POOLS = [
    *[
        Case("aten::max_pool2d_with_indices.out", (image, *call))
        for dtype in REAL
        for image in [*_images(dtype)[:4], make_tensor(3, 7, 9, dtype=dtype)]
        for call in _MAX_POOLS
    ],
    *[
        Case("aten::max_pool2d_with_indices.out", (_with_specials(dtype), *call))
        for dtype in FLOATS
        for call in _MAX_POOLS
    ],
    *[
        Case("aten::avg_pool2d.out", (image, *call))
        for dtype in (*FLOATS, torch.int64)
        for image in [*_images(dtype)[:4], make_tensor(3, 7, 9, dtype=dtype)]
        for call in _MEAN_POOLS
    ],
    *for_dtypes("aten::avg_pool2d.out", FLOATS, lambda d: (_with_specials(d), [2, 3])),
    *[
        Case("aten::_adaptive_avg_pool2d.out", (image, size))
        for dtype in FLOATS
        for image in [*_images(dtype)[:4], _with_specials(dtype), make_tensor(3, 7, 9, dtype=dtype)]
        for size in _OUTPUT_SIZES
    ],
    Case("aten::_adaptive_avg_pool2d.out", (make_tensor(1, 3, 7, 9), [0, 2])),
]

_SIZES = [[9, 11], [3, 4], [7, 9], [14, 18], [13, 2], [1, 5]]
_SCALES = [[2.0, 2.0], [1.5, 0.7], [3.3, 2.1]]
_BYTES_AND_FLOATS = (torch.uint8, *FLOATS)

_RESIZES = [
    case
    for dtype in _BYTES_AND_FLOATS
    for image in _images(dtype)
    for case in [
        *[Case("aten::upsample_nearest2d.vec_out", (image, size, None)) for size in _SIZES],
        *[Case("aten::upsample_nearest2d.vec_out", (image, None, scale)) for scale in _SCALES],
        *[
            Case("aten::upsample_bilinear2d.vec_out", (image, size, align, None))
            for size in _SIZES
            for align in (False, True)
        ],
        *[
            Case("aten::upsample_bilinear2d.vec_out", (image, None, align, scale))
            for scale in _SCALES
            for align in (False, True)
        ],
    ]
] + [
    Case("aten::_upsample_bilinear2d_aa.out", (image, size, align))
    for dtype in (torch.uint8, torch.float32, torch.float64)
    for image in _images(dtype)[:4]
    for size in _SIZES
    for align in (False, True)
]


def _in_float32(image: torch.Tensor, grid: torch.Tensor, *options: Any) -> torch.Tensor:
    """Eager computes half widths in themselves; the runtime computes as if in float32."""
    sampled = torch.grid_sampler_2d(image.float(), grid.float(), *options)
    return sampled.to(image.dtype)


_SAMPLES = [
    Case(
        "aten::grid_sampler_2d.out",
        (image, grid, interpolation, padding, align),
        reference=_in_float32 if dtype.itemsize == 2 else None,
    )
    for dtype in FLOATS
    for image, grid in [
        (_images(dtype)[0], make_tensor(2, 4, 6, 2, dtype=dtype, low=-1.4, high=1.4)),
        (_images(dtype)[1], make_tensor(2, 3, 5, 2, dtype=dtype, low=-3, high=3).transpose(1, 2)),
    ]
    for interpolation in (0, 1, 2)
    for padding in (0, 1, 2)
    for align in (False, True)
]

CASES = [*_POOLS, *_RESIZES, *_SAMPLES]


def _outputs(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty(shape), torch.empty(shape, dtype=torch.int64)


_IMAGE = make_tensor(1, 2, 4, 4)
_MAX, _MEAN = "aten::max_pool2d_with_indices.out", "aten::avg_pool2d.out"
_NEAREST, _GRID = "aten::upsample_nearest2d.vec_out", "aten::grid_sampler_2d.out"
REFUSALS = [
    Refusal(
        _MAX, (_IMAGE, [2, 2], [0, 1]), "stride must be at least 1", outputs=_outputs(1, 2, 2, 2)
    ),
    Refusal(_MAX, (_IMAGE, [0, 2]), "kernel_size must be at least 1", outputs=_outputs(1, 2, 2, 2)),
    Refusal(_MAX, (_IMAGE, [2, 2], [], [2, 2]), "more than half", outputs=_outputs(1, 2, 2, 2)),
    Refusal(_MAX, (_IMAGE, [5, 5]), "larger than the padded input", outputs=_outputs(1, 2, 1, 1)),
    Refusal(
        _MAX, (_IMAGE, [2, 2], [], 0, [2**40]), "dilation must be", outputs=_outputs(1, 2, 1, 1)
    ),
    Refusal(
        _MAX,
        (_IMAGE, [2, 2]),
        "indices",
        outputs=(torch.empty(1, 2, 2, 2), torch.empty(1, 2, 2, 2)),
    ),
    Refusal(_MAX, (make_tensor(4, 4), [2, 2]), "expected an image", outputs=_outputs(2, 2)),
    Refusal(
        _MEAN,
        (_IMAGE, [2, 2], [], 0, False, True, 0),
        "divisor",
        outputs=(torch.empty(1, 2, 2, 2),),
    ),
    Refusal(
        "aten::_adaptive_avg_pool2d.out",
        (_IMAGE, [-1, 2]),
        "output_size",
        outputs=(torch.empty(1, 2, 2, 2),),
    ),
    Refusal(_NEAREST, (_IMAGE, [8, 8], [2.0, 2.0]), "either", outputs=(torch.empty(1, 2, 8, 8),)),
    Refusal(
        _NEAREST, (_IMAGE, None, [NAN, 2.0]), "scale factor", outputs=(torch.empty(1, 2, 8, 8),)
    ),
    Refusal(
        _NEAREST, (_IMAGE, [0, 8], None), "must be positive", outputs=(torch.empty(1, 2, 8, 8),)
    ),
    Refusal(
        _GRID,
        (_IMAGE, make_tensor(1, 3, 3, 3), 0, 0, False),
        "expected input",
        outputs=(torch.empty(1, 2, 3, 3),),
    ),
    Refusal(
        _GRID,
        (_IMAGE, make_tensor(1, 3, 3, 2), 3, 0, False),
        "interpolation_mode",
        outputs=(torch.empty(1, 2, 3, 3),),
    ),
]
