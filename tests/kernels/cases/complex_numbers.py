"""Complex tensors: arithmetic, copies, their parts, and Fourier transforms."""

from itertools import product

import torch

from kernels.case import INTEGERS, Case, Refusal, make_tensor, specials

COMPLEX = (torch.complex64, torch.complex128)


def _complex(*shape: int, dtype: torch.dtype = torch.complex64, seed: int = 0) -> torch.Tensor:
    part = torch.float32 if dtype == torch.complex64 else torch.float64
    return torch.complex(
        make_tensor(*shape, dtype=part, low=-2, high=2, seed=seed),
        make_tensor(*shape, dtype=part, low=-2, high=2, seed=seed + 1),
    )


def _layouts(dtype: torch.dtype) -> list[torch.Tensor]:
    return [
        _complex(3, 5, dtype=dtype),
        _complex(dtype=dtype),
        _complex(0, 3, dtype=dtype),
        _complex(3, 5, 7, dtype=dtype).permute(2, 0, 1),
        _complex(7, 9, dtype=dtype)[1:, ::2],
        _complex(5, 1, dtype=dtype).expand(5, 3),
    ]


def _special() -> torch.Tensor:
    values = specials(torch.float32)
    return torch.complex(values.repeat(len(values)), values.repeat_interleave(len(values)))


def _pairs() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Operands of both complex dtypes, and of one with a real dtype."""
    other = [*COMPLEX, torch.float16, torch.float32, torch.float64, torch.int64, torch.bool]
    mixed = [
        (_complex(3, 5, dtype=a), b.to(dtype))
        for a, dtype in product(COMPLEX, other)
        for b in [_complex(5, seed=2) if dtype.is_complex else make_tensor(5, seed=2)]
    ]
    return [
        *mixed,
        (make_tensor(3, 5), _complex(3, 1)),
        (_complex(3, 5, 7).permute(2, 0, 1), _complex(3, 5)),
        (make_tensor(3), _complex(dtype=torch.complex128)),  # 0-d: only its kind of number counts
        (make_tensor(3, dtype=torch.int32), _complex(dtype=torch.complex128)),
    ]


def _half_spectrum(shape: tuple[int, ...], dims: list[int], dtype: torch.dtype) -> torch.Tensor:
    """The frequencies of real values of `shape` along the last of `dims`, or any numbers."""
    sizes = list(shape)
    sizes[dims[-1]] = sizes[dims[-1]] // 2 + 1
    return _complex(*sizes, dtype=dtype)


TRANSFORMED = [
    ((1,), [0]),
    ((7,), [0]),
    ((2, 8), [1]),
    ((3, 60), [1]),
    ((5, 67), [1]),  # a large prime
    ((134, 3), [0]),
    ((3, 4, 5), [0, 1]),
    ((4, 3, 6), [2, 0]),
]
NORMALIZATIONS = (0, 1, 2)

CASES = [
    *[
        Case(f"aten::{name}.out", (tensor,))
        for name in ("abs", "neg", "_conj_physical", "clone", "view_as_real_copy")
        for dtype in COMPLEX
        for tensor in _layouts(dtype)
    ],
    Case("aten::abs.out", (_special(),)),
    Case("aten::view_as_real_copy.out", (_special(),)),
    *[
        Case(f"aten::{name}.out", (a, b), {"alpha": alpha})
        for name in ("add", "sub")
        for a, b in _pairs()
        for alpha in (1, 2.5)
        if name == "add" or torch.bool not in (a.dtype, b.dtype)
    ],
    *[Case(f"aten::{name}.out", pair) for name in ("mul", "div") for pair in _pairs()],
    *[
        Case(f"aten::{name}.Scalar_out", (_complex(3, 5), number))
        for name in ("mul", "div", "add", "sub")
        for number in (3, 0.75)
    ],
    *[
        Case("aten::sum.IntList_out", (tensor, dims))
        for dtype in COMPLEX
        for tensor in (_complex(3, 5, 7, dtype=dtype), _complex(5, 3, dtype=dtype).t())
        for dims in ([0], [-1], [0, 1], None)
    ],
    *[
        Case("aten::where.self_out", (make_tensor(3, 5, dtype=torch.bool), a, b))
        for a, b in _pairs()
        if a.dim() > 0 and a.shape[-1] == 5
    ],
    *[Case("aten::prod.int_out", (_complex(3, 5, dtype=dtype), 1)) for dtype in COMPLEX],
    *[
        Case("aten::mm.out", (_complex(3, 5, dtype=dtype), _complex(5, 7, dtype=dtype)))
        for dtype in COMPLEX
    ],
    Case("aten::mm.out", (_complex(5, 3).t(), _complex(7, 5).t())),
    Case("aten::bmm.out", (_complex(2, 3, 5), _complex(2, 5, 4))),
    *[
        Case("aten::_to_copy.out", (_complex(3, 5, dtype=a),), out_dtype=b)
        for a, b in product(COMPLEX, COMPLEX)
    ],
    *[
        Case("aten::_to_copy.out", (make_tensor(3, 5, dtype=a),), out_dtype=b)
        for a in (*INTEGERS, torch.bool, torch.float16, torch.float32, torch.float64)
        for b in COMPLEX
    ],
    *[Case("aten::full.out", ([3, 5], 2.5), out_dtype=dtype) for dtype in COMPLEX],
    *[
        Case("aten::cat.out", ([_complex(3, 2, dtype=d), _complex(3, 5, dtype=d)], 1))
        for d in COMPLEX
    ],
    *[Case("aten::permute_copy.out", (_complex(3, 5, 7, dtype=d), [2, 0, 1])) for d in COMPLEX],
    *[Case("aten::slice_copy.Tensor_out", (_complex(3, 9, dtype=d), 1, 1, 8, 2)) for d in COMPLEX],
    *[Case("aten::select_copy.int_out", (_complex(3, 5, dtype=d), 0, 1)) for d in COMPLEX],
    *[
        Case("aten::index_select.out", (_complex(3, 5, dtype=d), 1, torch.tensor([4, 0])))
        for d in COMPLEX
    ],
    *[Case("aten::view_as_complex_copy.out", (make_tensor(3, 5, 2),))],
    Case("aten::view_as_complex_copy.out", (make_tensor(5, 3, 2, dtype=torch.float64),)),
    *[
        Case(
            "aten::_fft_r2c.out",
            (make_tensor(*shape, dtype=dtype, low=-2, high=2), dims, mode, onesided),
        )
        for shape, dims in TRANSFORMED
        for dtype in (torch.float32, torch.float64)
        for mode, onesided in [(0, True), (1, False), (2, True)]
    ],
    *[
        Case("aten::_fft_c2c.out", (_complex(*shape, dtype=dtype), dims, mode, forward))
        for shape, dims in TRANSFORMED
        for dtype in COMPLEX
        for mode, forward in [(0, True), (1, False), (2, True)]
    ],
    *[
        Case(
            "aten::_fft_c2r.out", (_half_spectrum(shape, dims, dtype), dims, mode, shape[dims[-1]])
        )
        for shape, dims in TRANSFORMED
        for dtype in COMPLEX
        for mode in NORMALIZATIONS
    ],
    Case("aten::_fft_r2c.out", (make_tensor(6, 5, 4).permute(2, 0, 1), [1], 0, True)),
]

ANY = torch.empty(1, dtype=torch.complex64)


def _refused(name: str, args: tuple[object, ...], match: str, out: torch.Tensor = ANY) -> Refusal:
    return Refusal(f"aten::{name}", args, match, outputs=(out.clone(),))


REFUSALS = [
    _refused("_fft_r2c.out", (make_tensor(3), [], 0, True), "no dimension"),
    _refused("_fft_r2c.out", (make_tensor(3), [0, 0], 0, True), "twice"),
    _refused("_fft_r2c.out", (make_tensor(0, 3), [0], 0, True), "nothing to transform"),
    _refused("_fft_r2c.out", (make_tensor(3), [0], 5, True), "normalization must be"),
    _refused("_fft_r2c.out", (_complex(3), [0], 0, True), "expected a float input"),
    _refused("_fft_c2c.out", (make_tensor(3), [0], 0, True), "expected complex tensors"),
    _refused("_fft_c2r.out", (_complex(3), [0], 0, 9), "9 real values have 5", torch.empty(9)),
    _refused("view_as_complex_copy.out", (make_tensor(3),), "must hold the two parts"),
    _refused("view_as_real_copy.out", (make_tensor(3),), "expected a complex tensor"),
    _refused("nonzero.out", (_complex(3),), "complex64 is not supported", torch.empty(3, 1).long()),
    _refused("exp.out", (_complex(1),), "complex64 is not supported"),
    _refused("mul.out", (_complex(3), _complex(3)), "complex64", torch.empty(3)),
]
