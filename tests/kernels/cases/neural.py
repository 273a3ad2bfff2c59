"""Matrix products, convolutions, normalizations, softmax, distances."""

from typing import Any

import torch

from kernels.case import (
    FLOATS,
    REAL,
    Case,
    Refusal,
    for_dtypes,
    layouts,
    make_tensor,
)

NAN, INF = float("nan"), float("inf")
WIDE = (torch.float32, torch.float64)


def _channels_last(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous(memory_format=torch.channels_last)


def _factor(*shape: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """Values whose products stay small enough that rounding does not drown the comparison."""
    bound = 1 if dtype.is_floating_point else 9
    return make_tensor(*shape, dtype=dtype, low=-bound, high=bound, seed=seed)


# rows, depth, columns: odd, of one tile and a bit, deeper than a slab, empty
_PRODUCT_SHAPES = [(3, 5, 7), (1, 1, 1), (33, 130, 35), (5, 0, 3), (0, 4, 3), (4, 3, 0)]


def _products(dtype: torch.dtype) -> list[Case]:
    cases = []
    for rows, depth, columns in _PRODUCT_SHAPES:
        left = _factor(rows, depth, dtype=dtype)
        right = _factor(depth, columns, dtype=dtype, seed=1)
        transposed = _factor(depth, rows, dtype=dtype).t()
        stack = _factor(2, rows, depth, dtype=dtype)
        bias = _factor(columns, dtype=dtype, seed=2)
        scales: dict[str, Any] = {"beta": 2, "alpha": 3}
        cases += [
            Case("aten::mm.out", (left, right)),
            Case("aten::mm.out", (transposed, right)),
            Case("aten::bmm.out", (stack, _factor(2, depth, columns, dtype=dtype))),
            Case("aten::bmm.out", (stack, right.expand(2, depth, columns))),
            Case("aten::addmm.out", (bias, left, right)),
            Case("aten::addmm.out", (_factor(rows, 1, dtype=dtype), left, right), scales),
            Case("aten::addmm.out", (_factor(dtype=dtype), left, right)),
            Case("aten::linear.out", (left, right.t(), bias)),
            Case("aten::linear.out", (stack.transpose(0, 1), right.t().contiguous())),
        ]
    return cases


_MATRICES = [
    *[case for dtype in REAL for case in _products(dtype)],
    Case(
        "aten::addmm.out",
        (torch.tensor([NAN, INF]), make_tensor(3, 4), make_tensor(4, 2)),
        {"beta": 0},
    ),
    Case(
        "aten::addmm.out",
        (make_tensor(2), make_tensor(3, 4), make_tensor(4, 2)),
        {"beta": 0.5, "alpha": -1.5},
    ),
    Case("aten::mm.out", (torch.tensor([[NAN, 1.0], [INF, 0.0]]), torch.tensor([[1.0], [0.0]]))),
    *for_dtypes(
        "aten::linear.out", FLOATS, lambda d: (_factor(5, dtype=d), _factor(3, 5, dtype=d))
    ),
    *for_dtypes(
        "aten::linear.out", FLOATS, lambda d: (_factor(2, 5, dtype=d), _factor(5, dtype=d))
    ),
    Case("aten::linear.out", (make_tensor(5), make_tensor(5))),
    Case(  # a plain float32 sum of these loses its last digits
        "aten::mm.out",
        (make_tensor(3, 20_011, low=99, high=101), make_tensor(20_011, 2, low=99, high=101)),
        reference=lambda a, b: (a.double() @ b.double()).float(),
    ),
]

# input shape, weight shape, bias, stride, padding, dilation, transposed, output_padding, groups
_CONVOLUTIONS: list[tuple[Any, ...]] = [
    ((2, 4, 7, 7), (6, 4, 3, 3), True, [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    ((2, 4, 8, 7), (4, 1, 3, 3), True, [2, 2], [1, 1], [1, 1], False, [0, 0], 4),
    ((2, 4, 8, 7), (6, 2, 3, 2), False, [2, 1], [1, 0], [1, 1], False, [0, 0], 2),
    ((1, 4, 5, 6), (37, 4, 1, 1), True, [1], [0], [1], False, [0], 1),
    ((2, 4, 9), (6, 4, 3), True, [2], [1], [1], False, [0], 1),
    ((1, 2, 5, 6, 7), (4, 2, 2, 3, 2), True, [1, 2, 1], [1, 1, 0], [1, 1, 1], False, [0, 0, 0], 1),
    ((0, 4, 7, 7), (6, 4, 3, 3), True, [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
]
_DILATED: list[tuple[Any, ...]] = [
    ((2, 4, 9, 7), (6, 2, 3, 2), True, [2, 1], [1, 0], [1, 2], False, [0, 0], 2),
    ((1, 4, 11), (2, 4, 3), False, [1], [2], [3], False, [0], 1),
    ((1, 2, 5, 6, 7), (4, 2, 2, 3, 2), True, [1, 2, 1], [1, 1, 0], [1, 1, 2], False, [0, 0, 0], 1),
]
_TRANSPOSED: list[tuple[Any, ...]] = [
    ((2, 4, 5, 6), (4, 3, 3, 3), True, [2, 2], [1, 1], [1, 1], True, [1, 1], 2),
    ((2, 4, 5, 6), (4, 6, 3, 2), False, [2, 3], [1, 0], [2, 1], True, [1, 0], 1),
    ((2, 4, 9), (4, 6, 3), True, [2], [1], [1], True, [0], 1),
    ((1, 2, 3, 4, 5), (2, 4, 2, 3, 2), True, [1, 2, 1], [1, 1, 0], [1, 1, 1], True, [0, 1, 0], 1),
]


def _convolutions(dtype: torch.dtype, calls: list[tuple[Any, ...]]) -> list[Case]:
    cases = []
    for input_shape, weight_shape, has_bias, *rest in calls:
        x = _factor(*input_shape, dtype=dtype)
        weight = _factor(*weight_shape, dtype=dtype, seed=1)
        transposed, groups = rest[3], rest[5]
        channels = weight_shape[1] * groups if transposed else weight_shape[0]
        bias = _factor(channels, dtype=dtype, seed=2) if has_bias else None
        cases.append(Case("aten::convolution.out", (x, weight, bias, *rest)))
        if x.dim() == 4 and x.numel() > 0:
            last = _channels_last(x)
            cases.append(Case("aten::convolution.out", (last, weight, bias, *rest)))
            cases.append(Case("aten::convolution.out", (last, _channels_last(weight), bias, *rest)))
    return cases


_CONVOLVED = [
    *[case for dtype in REAL for case in _convolutions(dtype, _CONVOLUTIONS)],
    *[case for dtype in (*FLOATS, torch.int64) for case in _convolutions(dtype, _DILATED[:2])],
    *[case for dtype in FLOATS for case in _convolutions(dtype, _DILATED)],
    *[case for dtype in (*FLOATS, torch.int64) for case in _convolutions(dtype, _TRANSPOSED)],
]


def _normalizations(dtype: torch.dtype) -> list[Case]:
    image = make_tensor(2, 4, 5, 7, dtype=dtype, low=-3, high=3)
    four = [make_tensor(4, dtype=dtype, low=0.5, high=2, seed=seed) for seed in range(4)]
    row = [make_tensor(7, dtype=dtype, low=-1, high=1, seed=seed) for seed in range(2)]
    cases = []
    for x in (image, _channels_last(image), image.transpose(2, 3).contiguous().transpose(2, 3)):
        tail = list(x.shape[-2:])
        weight = make_tensor(*tail, dtype=dtype, low=-1, high=1)
        cases += [
            Case("aten::native_layer_norm.out", (x, [7], *row, 1e-5)),
            Case("aten::native_layer_norm.out", (x, tail, weight, None, 1e-3)),
            Case("aten::native_layer_norm.out", (x, list(x.shape), None, None, 1e-5)),
        ]
    # Eager rounds in between when it reads half widths through strides: not a judge there.
    through_strides = [image.transpose(2, 3)] if dtype in WIDE else []
    for x in (image, _channels_last(image), *through_strides):
        cases += [
            Case("aten::_native_batch_norm_legit_no_training.out", (x, *four, 0.1, 1e-5)),
            Case(
                "aten::_native_batch_norm_legit_no_training.out",
                (x, None, None, *four[2:], 0.1, 1e-5),
            ),
            Case("aten::_native_batch_norm_legit.no_stats_out", (x, *four[:2], True, 0.1, 1e-5)),
            Case("aten::_native_batch_norm_legit.out", (x, *four, True, 0.1, 1e-5)),
            Case("aten::_native_batch_norm_legit.out", (x, *four, False, 0.1, 1e-5)),
        ]
    for x in (image, _channels_last(image)):
        cases += [
            Case("aten::native_group_norm.out", (x, *four[:2], 2, 4, 35, 2, 1e-5)),
            Case("aten::native_group_norm.out", (x, None, None, 2, 4, 35, 1, 1e-5)),
            Case("aten::native_group_norm.out", (x, four[0], None, 2, 4, 35, 4, 1e-5)),
        ]
    cases.append(Case("aten::native_layer_norm.out", (image[:0], [7], *row, 1e-5)))
    return cases


def _mixed_normalizations(dtype: torch.dtype) -> list[Case]:
    """Data of half width with parameters and statistics in float32."""
    image = make_tensor(2, 4, 5, 7, dtype=dtype)
    four = [make_tensor(4, low=0.5, high=2, seed=seed) for seed in range(4)]
    row = [make_tensor(7, seed=seed) for seed in range(2)]
    return [
        Case("aten::native_layer_norm.out", (image, [7], *row, 1e-5)),
        Case("aten::native_group_norm.out", (image, *four[:2], 2, 4, 35, 2, 1e-5)),
        Case("aten::_native_batch_norm_legit_no_training.out", (image, *four, 0.1, 1e-5)),
    ]


def _layer_norm_in_double(x: torch.Tensor, *args: Any) -> tuple[torch.Tensor, ...]:
    results = torch.native_layer_norm(x.double(), *args)
    return tuple(result.to(x.dtype) for result in results)


_NORMALIZED = [
    *[case for dtype in FLOATS for case in _normalizations(dtype)],
    *[case for dtype in (torch.float16, torch.bfloat16) for case in _mixed_normalizations(dtype)],
    *[
        Case(  # a large common offset, which one pass over sums of squares loses
            "aten::native_layer_norm.out",
            (make_tensor(3, 701, low=-1, high=1) + offset, [701], None, None, 1e-5),
            reference=_layer_norm_in_double,
        )
        for offset in (1e4, -1e5)
    ],
    Case(
        "aten::native_layer_norm.out",
        (torch.tensor([[1.0, NAN], [5.0, 5.0]]), [2], None, None, 1e-5),
    ),
]

_SOFTMAX_ROWS = [
    [NAN, 1, 2],
    [INF, 1, 2],
    [-INF, 1, 2],
    [-INF, -INF, -INF],
    [88, -88, 200],
    [0, 0, 0],
]
_SOFTMAXES = [
    case
    for name in ("aten::_softmax.out", "aten::_log_softmax.out")
    for case in [
        *[
            Case(name, (make_tensor(3, 5, 7, dtype=dtype), dim, False))
            for dtype in FLOATS
            for dim in (0, 1, -1)
        ],
        *for_dtypes(name, FLOATS, lambda d: (torch.tensor(_SOFTMAX_ROWS, dtype=d), 1, False)),
        *[Case(name, (tensor, -1, False)) for tensor in layouts()],
        Case(
            name,
            (make_tensor(3, 5, dtype=torch.float16), 1, True),
            reference=lambda x, dim, _, f=name: getattr(torch, f[7:-4])(x.float(), dim),
        ),
    ]
]


def _distances(dtype: torch.dtype) -> list[Case]:
    norms = (0.0, 0.5, 1.0, 2.0, 3.0, INF)
    few, many = make_tensor(3, 4, dtype=dtype), make_tensor(5, 4, dtype=dtype)
    stack = make_tensor(3, 2, 4, dtype=dtype).transpose(0, 1)
    return [
        *[Case("aten::_cdist_forward.out", (few, many, p, None)) for p in norms],
        *[Case("aten::_cdist_forward.out", (many.reshape(1, 1, 5, 4), stack, p, 2)) for p in norms],
        Case("aten::_cdist_forward.out", (few[:, :0], many[:, :0], 2.0, None)),
        *[Case("aten::_pdist_forward.out", (many, p)) for p in norms],
        Case("aten::_pdist_forward.out", (few[:1], 2.0)),
    ]


CASES = [
    *_MATRICES,
    *_CONVOLVED,
    *_NORMALIZED,
    *_SOFTMAXES,
    *[case for dtype in WIDE for case in _distances(dtype)],
]


def _refused_convolution(match: str, **changes: Any) -> Refusal:
    call: dict[str, Any] = {
        "input": make_tensor(1, 4, 7, 7),
        "weight": make_tensor(6, 4, 3, 3),
        "bias": None,
        "stride": [1, 1],
        "padding": [0, 0],
        "dilation": [1, 1],
        "transposed": False,
        "output_padding": [0, 0],
        "groups": 1,
    }
    out = changes.pop("out", torch.empty(1, 6, 5, 5))
    call.update(changes)
    return Refusal("aten::convolution.out", tuple(call.values()), match, outputs=(out,))


REFUSALS = [
    _refused_convolution("groups=3 does not divide 4", groups=3),
    _refused_convolution("groups must be positive", groups=0),
    _refused_convolution("stride must be at least 1", stride=[0, 1]),
    _refused_convolution("dilation must be at least 1", dilation=[-1]),
    _refused_convolution("padding must be at least 0", padding=[-1, 0]),
    _refused_convolution("stride needs 1 or 2 values", stride=[1, 1, 1]),
    _refused_convolution("larger than the padded input", dilation=[4, 4]),
    _refused_convolution("takes 2 input channels", weight=make_tensor(6, 2, 3, 3)),
    _refused_convolution("same rank", weight=make_tensor(6, 4, 3)),
    _refused_convolution("bias of 6", bias=make_tensor(5)),
    _refused_convolution("one dtype", weight=make_tensor(6, 4, 3, 3, dtype=torch.float64)),
    _refused_convolution("out must be float32", out=torch.empty(1, 6, 5, 5, dtype=torch.float16)),
    _refused_convolution("less than 2\\^31", padding=[2**62, 2**62]),
    _refused_convolution("size|rank", out=torch.empty(1, 6, 25)),
    Refusal(
        "aten::mm.out",
        (make_tensor(2, 3), make_tensor(4, 5)),
        "cannot be multiplied",
        outputs=(make_tensor(2, 5),),
    ),
    Refusal(
        "aten::mm.out",
        (make_tensor(2, 3), make_tensor(3, 5).double()),
        "one dtype",
        outputs=(make_tensor(2, 5),),
    ),
    Refusal(
        "aten::bmm.out",
        (make_tensor(2, 3, 4), make_tensor(3, 4, 5)),
        "cannot be multiplied",
        outputs=(make_tensor(2, 3, 5),),
    ),
    Refusal(
        "aten::addmm.out",
        (make_tensor(4), make_tensor(2, 3), make_tensor(3, 5)),
        "expanded",
        outputs=(make_tensor(2, 5),),
    ),
    Refusal(
        "aten::linear.out",
        (make_tensor(2, 3), make_tensor(4, 5)),
        "expected input",
        outputs=(make_tensor(2, 4),),
    ),
    Refusal(
        "aten::_softmax.out", (make_tensor(3), 1, False), "out of range", outputs=(make_tensor(3),)
    ),
    Refusal(
        "aten::native_layer_norm.out",
        (make_tensor(2, 3), [2], None, None, 1e-5),
        "not the end",
        outputs=(make_tensor(2, 3), make_tensor(2, 1), make_tensor(2, 1)),
    ),
    Refusal(
        "aten::native_group_norm.out",
        (make_tensor(2, 4, 3), None, None, 2, 4, 3, 3, 1e-5),
        "do not divide",
        outputs=(make_tensor(2, 4, 3), make_tensor(2, 3), make_tensor(2, 3)),
    ),
    Refusal(
        "aten::native_group_norm.out",
        (make_tensor(2, 4, 3), None, None, 2, 4, 5, 2, 1e-5),
        "elements a channel",
        outputs=(make_tensor(2, 4, 3), make_tensor(2, 2), make_tensor(2, 2)),
    ),
    Refusal(
        "aten::_cdist_forward.out",
        (make_tensor(2, 3), make_tensor(2, 4), 2.0, None),
        "expected",
        outputs=(make_tensor(2, 2),),
    ),
    Refusal(
        "aten::_pdist_forward.out", (make_tensor(2, 3), -1.0), "negative", outputs=(make_tensor(1),)
    ),
]
