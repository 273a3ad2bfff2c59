"""Backward operators that training programs contain."""

from typing import Any

import torch

from kernels.case import FLOATS, Case, Refusal, make_tensor

_CONVOLUTION, _POOL = (
    "aten::convolution_backward.out",
    "aten::max_pool2d_with_indices_backward.grad_input",
)

# input shape, weight shape, stride, padding, dilation, transposed, output_padding, groups
_CONVOLUTIONS: list[tuple[Any, ...]] = [
    ((2, 4, 7, 7), (6, 4, 3, 3), [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    ((2, 4, 8, 7), (6, 2, 3, 2), [2, 1], [1, 0], [1, 2], False, [0, 0], 2),
    ((2, 4, 8, 7), (4, 1, 3, 3), [2, 2], [1, 1], [1, 1], False, [0, 0], 4),
    ((2, 4, 9), (6, 4, 3), [2], [1], [1], False, [0], 1),
    ((1, 2, 4, 5, 6), (4, 2, 2, 3, 2), [1, 2, 1], [1, 1, 0], [1, 1, 1], False, [0, 0, 0], 1),
    ((2, 4, 5, 6), (4, 3, 3, 3), [2, 2], [1, 1], [1, 1], True, [1, 1], 2),
    ((2, 4, 9), (4, 6, 3), [2], [1], [1], True, [0], 1),
    ((0, 4, 7, 7), (6, 4, 3, 3), [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
]


def _unit(*shape: int, dtype: torch.dtype, seed: int) -> torch.Tensor:
    return make_tensor(*shape, dtype=dtype, low=-1, high=1, seed=seed)


def _in_float32(*args: Any) -> list[torch.Tensor]:
    """Eager rounds sums of half widths on the way; the runtime rounds the result."""
    wide = [arg.float() if isinstance(arg, torch.Tensor) else arg for arg in args]
    return [gradient.to(args[0].dtype) for gradient in torch.ops.aten.convolution_backward(*wide)]


def _convolution_cases(dtype: torch.dtype) -> list[Case]:
    cases = []
    for input_shape, weight_shape, *rest in _CONVOLUTIONS:
        x = _unit(*input_shape, dtype=dtype, seed=0)
        weight = _unit(*weight_shape, dtype=dtype, seed=1)
        output = torch.ops.aten.convolution(x, weight, None, *rest)
        gradient = _unit(*output.shape, dtype=dtype, seed=2)
        layouts = [(gradient, x, weight)]
        if x.dim() == 4 and x.numel() > 0:
            layouts.append(
                tuple(t.contiguous(memory_format=torch.channels_last) for t in layouts[0])
            )
        cases += [
            Case(
                _CONVOLUTION,
                (*tensors, [output.shape[1]], *rest, [True, True, True]),
                reference=_in_float32 if dtype.itemsize == 2 else None,
            )
            for tensors in layouts
        ]
    return cases


# kernel, stride, padding, dilation, ceil_mode
_POOLS: list[tuple[Any, ...]] = [
    ([2, 2], [2, 2], [0, 0], [1, 1], False),
    ([3, 3], [1, 2], [1, 1], [1, 1], True),
    ([3, 2], [2, 1], [1, 0], [1, 2], False),
]


def _pool_cases(dtype: torch.dtype) -> list[Case]:
    cases = []
    image = _unit(2, 3, 7, 9, dtype=dtype, seed=0)
    for x in (image, image.contiguous(memory_format=torch.channels_last), image[0]):
        for pool in _POOLS:
            output, indices = torch.ops.aten.max_pool2d_with_indices(x, *pool)
            # Small integers: exact whatever the order in which overlapping windows are added.
            gradient = make_tensor(*output.shape, dtype=torch.int64).to(dtype)
            cases.append(Case(_POOL, (gradient, x, *pool, indices)))
    return cases


CASES = [case for dtype in FLOATS for case in _convolution_cases(dtype) + _pool_cases(dtype)]

_IMAGE = make_tensor(1, 2, 4, 4)
REFUSALS = [
    Refusal(
        _POOL,
        (make_tensor(1, 2, 2, 2), _IMAGE, *_POOLS[0], torch.full((1, 2, 2, 2), 16)),
        "index 16 is outside",
        outputs=(torch.empty(1, 2, 4, 4),),
    ),
    Refusal(
        _POOL,
        (make_tensor(1, 2, 3, 3), _IMAGE, *_POOLS[0], torch.zeros(1, 2, 2, 2, dtype=torch.int64)),
        "grad_output",
        outputs=(torch.empty(1, 2, 4, 4),),
    ),
    Refusal(
        _CONVOLUTION,
        (
            make_tensor(1, 2, 4, 4),
            _IMAGE,
            make_tensor(2, 2, 3, 3),
            [2],
            [1],
            [0],
            [1],
            False,
            [0],
            1,
            [True] * 3,
        ),
        "grad_output",
        outputs=(torch.empty(1, 2, 4, 4), torch.empty(2, 2, 3, 3), torch.empty(2)),
    ),
]
