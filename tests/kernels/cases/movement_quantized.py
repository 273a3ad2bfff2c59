"""Operators that compute with quantized values, judged by what they stand for."""

from collections.abc import Callable
from typing import Any

import torch
from torch.ao.quantization.fx import _decomposed  # noqa: F401 (registers the references)

from kernels.case import Case, Refusal, make_tensor
from kernels.quantized import OUT as TAIL
from kernels.quantized import limits, quantized, scales_of, zeros_of

DECOMPOSED = torch.ops.quantized_decomposed
ADD = (
    "quantized_decomposed::add.out("
    + "".join(
        f"Tensor {x}, float {x}_scale, int {x}_zero_point, int {x}_quant_min, int {x}_quant_max, "
        for x in "ab"
    )
    + f"float out_scale, int out_zero_point, int out_quant_min, int out_quant_max, {TAIL}"
)
MIXED_MM = (
    "quantized_decomposed::mixed_mm.out(Tensor input, Tensor weight, Tensor weight_scales, "
    f"Tensor? weight_zero_points, {TAIL}"
)
MIXED_LINEAR = (
    "quantized_decomposed::mixed_linear.out(Tensor input, Tensor weight, Tensor weight_scales, "
    f"Tensor? weight_zero_points, ScalarType? dtype=None, {TAIL}"
)


def _embedding(name: str) -> str:
    is_typed = name.endswith("dtype_out")
    return (
        f"quantized_decomposed::{name}(Tensor weight, Tensor weight_scales, "
        "Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, "
        + ("*, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)" if is_typed else TAIL)
    )


def _add(*arguments: Any) -> torch.Tensor:
    """What quantized add stands for."""
    a, a_scale, a_zero, a_min, a_max, b, b_scale, b_zero, b_min, b_max, *out = arguments
    total = DECOMPOSED.dequantize_per_tensor(
        a, a_scale, a_zero, a_min, a_max, a.dtype
    ) + DECOMPOSED.dequantize_per_tensor(b, b_scale, b_zero, b_min, b_max, b.dtype)
    return DECOMPOSED.quantize_per_tensor(total, *out, a.dtype)


def _dequantized(
    weight: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor | None
) -> torch.Tensor:
    """Rows of `weight` times their scales, one or a group of them a row, in the scales' dtype."""
    groups = 1 if scales.dim() == 1 else scales.shape[1]
    scales = scales.reshape(-1, groups).repeat_interleave(weight.shape[1] // groups, 1)
    if zero_points is None:
        return weight * scales
    zero_points = zero_points.reshape(-1, groups).repeat_interleave(weight.shape[1] // groups, 1)
    return (weight - zero_points) * scales


def _mixed_mm(
    x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor | None
) -> torch.Tensor:
    return x @ _dequantized(weight, scales, zero_points)


def _mixed_linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    scales: torch.Tensor,
    zero_points: torch.Tensor | None,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    result = x.double() @ _dequantized(weight.double(), scales.double(), zero_points).t()
    return result.to(dtype or x.dtype)


def _unpack(weight: torch.Tensor, bits: int) -> torch.Tensor:
    """The signed values of packed rows."""
    if bits == 8:
        return weight
    shifts = {4: (4, 0), 2: (0, 2, 4, 6)}[bits]
    parts = [(weight >> shift) & (2**bits - 1) for shift in shifts]
    return torch.stack(parts, dim=-1).flatten(1).to(torch.int8) - 2 ** (bits - 1)


def _embed(bits: int) -> Callable[..., torch.Tensor]:
    def reference(
        weight: torch.Tensor,
        scales: torch.Tensor,
        zero_points: torch.Tensor | None,
        quant_min: int,
        quant_max: int,
        indices: torch.Tensor,
        dtype: torch.dtype | None = None,
    ) -> torch.Tensor:
        table = _dequantized(_unpack(weight, bits), scales, zero_points)
        return table.to(dtype or scales.dtype)[indices]

    return reference


INDICES = torch.tensor([[3, 0, 8], [8, 1, 1]])
CASES = [
    *[
        Case(ADD, (a, 0.05, 3, *ends, b, 0.02, -4, *ends, 0.06, 7, *ends), reference=_add)
        for dtype in (torch.int8, torch.uint8)
        for ends in [limits(dtype)]
        for a, b in (
            (quantized(5, 7, dtype=dtype), quantized(5, 7, dtype=dtype, seed=1)),
            (quantized(5, 7, dtype=dtype), quantized(7, 5, dtype=dtype).t()),
            (quantized(5, 1, dtype=dtype), quantized(7, dtype=dtype)),
            (quantized(3, 700, dtype=dtype), quantized(3, 700, dtype=dtype, seed=1)),
        )
    ],
    *[
        Case(MIXED_MM, (x, w, scales_of(w.shape[0], dtype=x.dtype), zero), reference=_mixed_mm)
        for x, w in (
            (make_tensor(3, 5), quantized(5, 7)),
            (make_tensor(5, 3).t(), quantized(70, 5).t()),
            (make_tensor(2, 600) * 1e-3, quantized(600, 130)),
            (make_tensor(0, 5), quantized(5, 7)),
            (make_tensor(3, 0), quantized(0, 7)),
        )
        for zero in (None, zeros_of(w.shape[0]).to(x.dtype))
    ],
    *[
        Case(
            MIXED_LINEAR,
            (x, w, scales_of(w.shape[0], *groups, dtype=x.dtype), None, dtype),
            reference=_mixed_linear,
        )
        for x, w, groups, dtype in (
            (make_tensor(3, 5), quantized(7, 5), (), None),
            (make_tensor(1, 5), quantized(7, 5), (1,), torch.float32),
            (make_tensor(3, 12), quantized(7, 12), (3,), None),
            (make_tensor(2, 600) * 1e-3, quantized(130, 600), (), None),
            (make_tensor(2, 600) * 1e-3, quantized(130, 600), (5,), None),
            (make_tensor(5, 3).t(), quantized(5, 9).t(), (), None),
            (make_tensor(3, 5).half(), quantized(7, 5), (), None),
            (make_tensor(3, 5).half(), quantized(7, 5), (), torch.float32),
            (make_tensor(3, 6).bfloat16(), quantized(7, 6), (2,), torch.float32),
            (make_tensor(0, 5), quantized(7, 5), (), None),
            (make_tensor(3, 0), quantized(7, 0), (), None),
            (make_tensor(5, 0), quantized(7, 0), (), None),
            (make_tensor(9, 5), quantized(70, 5), (), None),
            (make_tensor(17, 600) * 1e-3, quantized(130, 600), (), None),
            (make_tensor(17, 600) * 1e-3, quantized(130, 600), (5,), torch.float32),
            (make_tensor(17, 12), quantized(3, 12), (6,), None),
        )
    ],
    Case(
        MIXED_LINEAR,
        (make_tensor(3, 12), quantized(7, 12), scales_of(7, 3), zeros_of(7, 3).float(), None),
        reference=_mixed_linear,
    ),
    Case(
        MIXED_LINEAR,
        (make_tensor(6, 12), quantized(7, 12), scales_of(7, 3), zeros_of(7, 3).float(), None),
        reference=_mixed_linear,
    ),
    *[
        Case(
            _embedding(overload),
            (weight, scales, zero, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, INDICES),
            {} if dtype is None else {"dtype": dtype},
            reference=_embed(bits),
        )
        for name, typed_name, bits, weights in (
            (
                "embedding_byte.out",
                "embedding_byte.dtype_out",
                8,
                (quantized(9, 12), quantized(9, 12, dtype=torch.uint8)),
            ),
            (
                "embedding_4bit.out",
                "embedding_4bit.dtype_out",
                4,
                (quantized(9, 6, dtype=torch.uint8), quantized(6, 9, dtype=torch.uint8).t()),
            ),
            (
                "embedding_2bit.out",
                "embedding_2bit.dtype_out",
                2,
                (quantized(9, 3, dtype=torch.uint8),),
            ),
        )
        for weight in weights
        for groups in ((), (1,), (3,))
        for scales in (scales_of(9, *groups), scales_of(9, *groups).half())
        for zero in (None, zeros_of(9, *groups).to(scales.dtype))
        for overload, dtype in (
            (name, None),
            (typed_name, torch.float32),
            (typed_name, torch.float16),
        )
    ],
]


def _empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype)


REFUSALS = [
    Refusal(
        MIXED_LINEAR,
        (make_tensor(3, 5), quantized(7, 6), torch.ones(7), None),
        "cannot be multiplied",
        outputs=(_empty(3, 7),),
    ),
    Refusal(
        MIXED_LINEAR,
        (make_tensor(3, 5), quantized(7, 5), torch.ones(6), None),
        "7 rows",
        outputs=(_empty(3, 7),),
    ),
    Refusal(
        MIXED_LINEAR,
        (make_tensor(3, 5), quantized(7, 5), torch.ones(7, 6), None),
        "6 groups",
        outputs=(_empty(3, 7),),
    ),
    Refusal(
        MIXED_MM,
        (make_tensor(3, 5), quantized(7, 5), torch.ones(7), None),
        "multiplied",
        outputs=(_empty(3, 5),),
    ),
    Refusal(
        _embedding("embedding_byte.out"),
        (quantized(3, 4), torch.ones(3), None, -128, 127, torch.tensor([3])),
        r"index 3 at position \[0\]",
        outputs=(_empty(1, 4),),
    ),
    Refusal(
        _embedding("embedding_4bit.out"),
        (quantized(3, 4, dtype=torch.uint8), torch.ones(3), None, -128, 127, torch.tensor([0])),
        "not that of 4 bits",
        outputs=(_empty(1, 8),),
    ),
    Refusal(
        _embedding("embedding_byte.out"),
        (quantized(3, 4), torch.ones(3, 3), None, -128, 127, torch.tensor([0])),
        "3 groups do not divide rows of 4",
        outputs=(_empty(1, 4),),
    ),
]
