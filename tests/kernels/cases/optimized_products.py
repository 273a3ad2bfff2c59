"""Matrix products and convolutions whose shapes hit every path of the optimized library."""

import torch

from kernels.case import Case, make_tensor

CONVOLUTION = "aten::convolution.out"

# (rows, depth, columns): one row, few rows, tails of every tile, more than one depth block, empty.
PRODUCTS = [
    (1, 1, 1),
    (1, 300, 70),
    (3, 5, 7),
    (5, 0, 3),
    (0, 4, 3),
    (9, 33, 130),
    (17, 40, 1),
    (29, 64, 17),
    (65, 1200, 49),
    (130, 70, 200),
]


def values(*shape: int, seed: int = 0) -> torch.Tensor:
    """Values small enough that sums over a long depth stay near one."""
    return make_tensor(*shape, low=-0.3, high=0.3, seed=seed)


def product_cases(rows: int, depth: int, columns: int) -> list[Case]:
    a, b = values(rows, depth), values(depth, columns, seed=1)
    weight, bias = values(columns, depth, seed=2), values(columns, seed=3)
    return [
        Case("aten::mm.out", (a, b)),
        Case("aten::mm.out", (a, weight.t())),
        Case("aten::mm.out", (values(depth, rows).t(), b)),
        Case("aten::addmm.out", (bias, a, b)),
        Case("aten::addmm.out", (bias.reshape(1, -1), a, weight.t())),
        Case("aten::linear.out", (a, weight, bias)),
        Case("aten::linear.out", (a.reshape(1, rows, depth), weight)),
        Case("aten::bmm.out", (values(3, rows, depth), values(3, depth, columns))),
        Case("aten::bmm.out", (values(2, rows, depth), values(2, columns, depth).mT)),
    ]


def convolution(
    shape: tuple[int, ...],
    outputs: int,
    kernel: tuple[int, ...],
    *,
    stride: tuple[int, ...] = (1, 1),
    padding: tuple[int, ...] = (0, 0),
    dilation: tuple[int, ...] = (1, 1),
    groups: int = 1,
    has_bias: bool = True,
) -> Case:
    weight = values(outputs, shape[1] // groups, *kernel, seed=1)
    bias = values(outputs, seed=2) if has_bias else None
    geometry = (list(stride), list(padding), list(dilation))
    return Case(CONVOLUTION, (values(*shape), weight, bias, *geometry, False, [0], groups))


def transposed_convolution(
    shape: tuple[int, ...],
    group_outputs: int,
    kernel: tuple[int, ...],
    *,
    groups: int = 1,
    has_bias: bool = True,
    **geometry: tuple[int, ...],
) -> Case:
    weight = values(shape[1], group_outputs, *kernel, seed=1)
    bias = values(group_outputs * groups, seed=2) if has_bias else None
    ones, zeros = (1,) * len(kernel), (0,) * len(kernel)
    stride, padding, dilation, output_padding = (
        list(geometry.get(name, otherwise))
        for name, otherwise in [
            ("stride", ones),
            ("padding", zeros),
            ("dilation", ones),
            ("output_padding", zeros),
        ]
    )
    arguments = (stride, padding, dilation, True, output_padding, groups)
    return Case(CONVOLUTION, (values(*shape), weight, bias, *arguments))


FAST_CASES = [
    *(case for sizes in PRODUCTS for case in product_cases(*sizes)),
    # pointwise, read in place for few outputs and packed for many
    convolution((1, 5, 7, 9), 3, (1, 1)),
    convolution((2, 33, 14, 14), 70, (1, 1), has_bias=False),
    # the first layer of a network, rows longer and shorter than a panel
    convolution((1, 3, 33, 71), 20, (7, 7), stride=(2, 2), padding=(3, 3)),
    convolution((2, 8, 7, 7), 17, (3, 3), padding=(1, 1)),
    convolution((1, 4, 1, 130), 15, (1, 3), padding=(0, 1)),
    convolution((1, 150, 5, 5), 9, (3, 3), padding=(1, 1)),
    # geometry: uneven strides, dilation, padding beyond the image, output of one element
    convolution((1, 4, 17, 19), 6, (3, 2), stride=(3, 2), padding=(2, 1), dilation=(2, 3)),
    convolution((1, 2, 2, 3), 3, (3, 3), padding=(3, 4)),
    convolution((1, 6, 5, 5), 40, (5, 5)),
    convolution((1, 16, 14, 14), 24, (1, 1), stride=(2, 2)),
    # groups and depthwise
    convolution((2, 6, 9, 8), 9, (3, 3), padding=(1, 1), groups=3),
    convolution((2, 19, 14, 15), 19, (3, 3), padding=(1, 1), groups=19),
    convolution((1, 5, 57, 57), 5, (5, 5), stride=(2, 2), padding=(2, 2), groups=5),
    convolution((1, 3, 11, 7), 6, (3, 3), padding=(2, 2), dilation=(2, 2), groups=3),
    convolution((1, 7, 1, 1), 7, (3, 3), padding=(1, 1), groups=7),
    # transposed: taps apart, overlapping, beyond the image, in groups
    transposed_convolution((1, 5, 7, 9), 3, (2, 2), stride=(2, 2)),
    transposed_convolution((2, 6, 5, 4), 4, (3, 3), stride=(2, 1), padding=(1, 2), groups=2),
    transposed_convolution((1, 3, 4, 5), 2, (3, 2), dilation=(2, 3), output_padding=(1, 2)),
    transposed_convolution((1, 4, 3, 3), 1, (5, 5), padding=(3, 3), groups=4, has_bias=False),
    transposed_convolution((1, 33, 40, 40), 700, (1, 2), stride=(1, 3), padding=(0, 0)),
    transposed_convolution((2, 4, 9), 3, (4,), stride=(3,), padding=(1,), groups=2),
    # one spatial dimension
    convolution((2, 4, 40), 6, (5,), stride=(2,), padding=(2,), dilation=(1,), groups=2),
]
