"""Elementwise operators of the optimized library: special values, tails, broadcasts."""

import torch

from kernels.case import Case, make_tensor, special_pairs, specials

FLOAT = torch.float32
UNARY = [
    "aten::relu.out",
    "aten::sigmoid.out",
    "aten::tanh.out",
    "aten::exp.out",
    "aten::log.out",
    "aten::erf.out",
    "aten::sqrt.out",
    "aten::rsqrt.out",
    "aten::reciprocal.out",
    "aten::abs.out",
    "aten::neg.out",
]
BINARY = [
    "aten::add.out",
    "aten::sub.out",
    "aten::mul.out",
    "aten::div.out",
    "aten::maximum.out",
    "aten::minimum.out",
]
WITH_SCALAR = [
    "aten::add.Scalar_out",
    "aten::sub.Scalar_out",
    "aten::mul.Scalar_out",
    "aten::div.Scalar_out",
]


def inputs() -> list[torch.Tensor]:
    """Special values, a fine sweep, every length of a tail, empty and 0-d."""
    return [
        specials(FLOAT),
        torch.linspace(-105.0, 90.0, 1171),
        torch.linspace(-1.5, 1.5, 301),
        *(make_tensor(length) for length in (1, 3, 5, 17, 31)),
        make_tensor(2, 3, 7),
        make_tensor(0, 3),
        make_tensor(),
    ]


def gelu_inputs() -> list[torch.Tensor]:
    """Without infinities and the largest numbers: eager's vector code makes NaN of them."""
    values = specials(FLOAT)
    return [values[~(values.abs() > 1e30)], *inputs()[1:]]


def shapes() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Row-major pairs: same shape, scalar, row, channel and outer broadcasts."""
    return [
        (make_tensor(2, 3, 5), make_tensor(2, 3, 5, seed=1)),
        (make_tensor(4, 19), make_tensor(19, seed=1)),
        (make_tensor(19), make_tensor(4, 19, seed=1)),
        (make_tensor(2, 3, 5, 7), make_tensor(1, 3, 1, 1, seed=1)),
        (make_tensor(3, 1, 1), make_tensor(2, 3, 5, 7, seed=1)),
        (make_tensor(3, 1), make_tensor(1, 5, seed=1)),
        (make_tensor(2, 1, 5), make_tensor(2, 4, 1, seed=1)),
        (make_tensor(3, 6), make_tensor(seed=1)),
        (make_tensor(), make_tensor(seed=1)),
        (make_tensor(0, 3), make_tensor(1, 3, seed=1)),
        (make_tensor(33, 1100), make_tensor(33, 1100, seed=1)),
        special_pairs(FLOAT),
    ]


FAST_CASES = [
    *[
        Case("aten::pow.Tensor_Scalar_out", (x, exponent))
        for x in (make_tensor(3, 37), specials(torch.float32))
        for exponent in (2, 2.0, 0.5, -0.5, -1)
    ],
    *(Case(name, (x,)) for name in UNARY for x in inputs()),
    *(Case("aten::hardtanh.out", (x, 0.0, 6.0)) for x in inputs()),
    *(
        Case("aten::clamp.out", (x, low, high))
        for x in inputs()
        for low, high in [(-1, None), (None, 0.5), (2.0, -1.0)]
    ),
    *(Case("aten::leaky_relu.out", (x, 0.1)) for x in inputs()),
    *(
        Case("aten::gelu.out", (x,), {"approximate": kind})
        for x in gelu_inputs()
        for kind in ("none", "tanh")
    ),
    *(Case(name, pair) for name in BINARY for pair in shapes()),
    Case("aten::add.out", shapes()[1], {"alpha": 3}),
    Case("aten::sub.out", shapes()[3], {"alpha": 0.5}),
    *(Case(name, (make_tensor(5, 7), number)) for name in WITH_SCALAR for number in (2, -1.5)),
]
