"""Quantizing, dequantizing and choosing parameters, judged by eager's decomposed operators."""

from collections.abc import Callable

import torch
from torch.ao.quantization.fx import _decomposed  # noqa: F401 (registers the references)

from kernels.case import Case, Refusal, make_tensor
from kernels.quantized import OUT as TAIL
from kernels.quantized import limits, quantized, scales_of, zeros_of

DECOMPOSED = torch.ops.quantized_decomposed
QUANTIZED = (torch.uint8, torch.int8, torch.int16, torch.uint16)
RANGE = "int quant_min, int quant_max, ScalarType dtype"

QUANTIZE_TENSOR = (
    "quantized_decomposed::quantize_per_tensor.out"
    f"(Tensor input, float scale, int zero_point, {RANGE}, {TAIL}"
)
QUANTIZE_TENSOR_TENSOR = (
    "quantized_decomposed::quantize_per_tensor.Tensor_out"
    f"(Tensor input, Tensor scale, Tensor zero_point, {RANGE}, {TAIL}"
)
DEQUANTIZE_TENSOR = (
    "quantized_decomposed::dequantize_per_tensor.out(Tensor input, float scale, int zero_point, "
    f"{RANGE}, ScalarType? out_dtype=None, {TAIL}"
)
DEQUANTIZE_TENSOR_TENSOR = (
    "quantized_decomposed::dequantize_per_tensor.Tensor_out(Tensor input, Tensor scale, "
    f"Tensor zero_point, {RANGE}, ScalarType? out_dtype=None, {TAIL}"
)
QUANTIZE_CHANNEL = (
    "quantized_decomposed::quantize_per_channel.out"
    f"(Tensor input, Tensor scales, Tensor zero_points, int axis, {RANGE}, {TAIL}"
)
DEQUANTIZE_CHANNEL = (
    "quantized_decomposed::dequantize_per_channel.out(Tensor input, Tensor scales, "
    f"Tensor? zero_points, int axis, {RANGE}, ScalarType? out_dtype=None, {TAIL}"
)
QUANTIZE_TOKEN = (
    "quantized_decomposed::quantize_per_token.out"
    f"(Tensor input, Tensor scales, Tensor zero_points, {RANGE}, {TAIL}"
)
DEQUANTIZE_TOKEN = (
    "quantized_decomposed::dequantize_per_token.out(Tensor input, Tensor scales, "
    f"Tensor zero_points, {RANGE}, ScalarType output_dtype, {TAIL}"
)
CHOOSE = (
    "quantized_decomposed::choose_qparams.Tensor_out(Tensor input, int quant_min, int quant_max, "
    "float eps, ScalarType dtype, *, Tensor(a!) scale_out, Tensor(b!) zero_point_out) "
    "-> (Tensor(a!), Tensor(b!))"
)
CHOOSE_TOKEN = (
    "quantized_decomposed::choose_qparams_per_token_asymmetric.out(Tensor input, "
    "ScalarType dtype, *, Tensor(a!) scale_out, Tensor(b!) zero_point_out) "
    "-> (Tensor(a!), Tensor(b!))"
)
VALUES = make_tensor(5, 7) * 3
TIES = torch.arange(-20, 20).float() / 2
NOT_NUMBERS = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 0.0] * 5)
LONG = make_tensor(3, 700)
PERMUTED = make_tensor(3, 4, 5).permute(2, 0, 1)
CHANNELS_LAST = make_tensor(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)

QUANTIZE = [
    *[
        Case(QUANTIZE_TENSOR, (x, scale, zero, *limits(dtype), dtype), reference=reference)
        for reference in [DECOMPOSED.quantize_per_tensor.default]
        for dtype in QUANTIZED
        for x in (VALUES, TIES, NOT_NUMBERS, LONG, PERMUTED, VALUES.half(), VALUES.bfloat16())
        for scale, zero in ((0.5, 3), (1.0, 0), (0.037, 5))
    ],
    *[
        Case(
            QUANTIZE_TENSOR,
            (x, 0.25, zero, -(2**20), 2**20, torch.int32),
            reference=DECOMPOSED.quantize_per_tensor.default,
        )
        for x in (
            VALUES,
            TIES,
            make_tensor(9, low=-1e8, high=1e8),
            make_tensor(0, 3),
            make_tensor(),
        )
        for zero in (0, -7, 2**23)
    ],
    Case(
        QUANTIZE_TENSOR,
        (VALUES, 0.1, 1, -4, 5, torch.int8),
        reference=DECOMPOSED.quantize_per_tensor.default,
    ),
    *[
        Case(
            QUANTIZE_TENSOR_TENSOR,
            (
                VALUES,
                torch.tensor([0.3], dtype=scale),
                torch.tensor(2, dtype=zero),
                0,
                255,
                torch.uint8,
            ),
            reference=DECOMPOSED.quantize_per_tensor.tensor,
        )
        for scale in (torch.float32, torch.float64)
        for zero in (torch.int32, torch.int64)
    ],
    *[
        Case(
            QUANTIZE_CHANNEL,
            (
                x,
                scales_of(x.shape[axis], dtype=scale),
                zeros_of(x.shape[axis]),
                axis,
                *limits(d),
                d,
            ),
            reference=DECOMPOSED.quantize_per_channel.default,
        )
        for x in (VALUES, VALUES.half(), LONG, PERMUTED, CHANNELS_LAST, VALUES.t())
        for axis in (0, 1, -1)
        for scale in (torch.float32, torch.float64)
        for d in (torch.int8, torch.uint8)
    ],
    *[
        Case(
            QUANTIZE_TOKEN,
            (
                x,
                scales_of(*x.shape[:-1], 1, dtype=scale),
                zeros_of(*x.shape[:-1], 1),
                -128,
                127,
                torch.int8,
            ),
            reference=DECOMPOSED.quantize_per_token.default,
        )
        for x in (VALUES, VALUES.half(), LONG, PERMUTED, TIES, make_tensor(3, 1))
        for scale in (torch.float32, torch.float64)
    ],
    Case(
        QUANTIZE_TOKEN,
        (TIES[None], torch.tensor([[1.0]]), torch.tensor([[1]]), -128, 127, torch.int8),
        reference=DECOMPOSED.quantize_per_token.default,
    ),
]


def _with_out_dtype(operator: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The operator with its out_dtype as the last position (cases have another use of the name)."""
    return lambda *arguments: operator(*arguments[:-1], out_dtype=arguments[-1])


DEQUANTIZE = [
    *[
        Case(
            DEQUANTIZE_TENSOR,
            (quantized(5, 7, dtype=dtype), 0.037, 5, *limits(dtype), dtype, out),
            reference=_with_out_dtype(DECOMPOSED.dequantize_per_tensor.default),
        )
        for dtype in (*QUANTIZED, torch.int32)
        for out in (None, torch.float32, torch.float64, torch.float16, torch.bfloat16)
    ],
    *[
        Case(
            DEQUANTIZE_TENSOR,
            (x, 0.5, -3, -128, 127, torch.int8),
            reference=DECOMPOSED.dequantize_per_tensor.default,
        )
        for x in (
            quantized(3, 700),
            quantized(3, 4, 5).permute(2, 0, 1),
            quantized(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
            quantized(0, 3),
            quantized(),
        )
    ],
    Case(
        DEQUANTIZE_TENSOR_TENSOR,
        (quantized(5, 7), torch.tensor([0.3]).double(), torch.tensor([2]), -128, 127, torch.int8),
        reference=DECOMPOSED.dequantize_per_tensor.tensor,
    ),
    *[
        Case(
            DEQUANTIZE_CHANNEL,
            (
                quantized(4, 5, 6, dtype=d).permute(*order),
                scales_of(sizes[axis], dtype=scale),
                zero if zero is None else zeros_of(sizes[axis], dtype=zero),
                axis,
                *limits(d),
                d,
                out,
            ),
            reference=_with_out_dtype(DECOMPOSED.dequantize_per_channel.default),
        )
        for d in (torch.int8, torch.uint8, torch.int16, torch.int32)
        for order, sizes in (((0, 1, 2), (4, 5, 6)), ((2, 0, 1), (6, 4, 5)))
        for axis in (0, 1, -1)
        for scale, zero in (
            (torch.float32, torch.int64),
            (torch.float64, torch.int32),
            (torch.float32, None),
        )
        for out in (None, torch.float16)
    ],
    *[
        Case(
            DEQUANTIZE_TOKEN,
            (
                quantized(3, 4, 5),
                scales_of(3, 4, 1, dtype=scale),
                zeros_of(3, 4, 1),
                -128,
                127,
                torch.int8,
                out,
            ),
            reference=DECOMPOSED.dequantize_per_token.default,
        )
        for scale in (torch.float32, torch.float64)
        for out in (torch.float32, torch.float16, torch.float64)
    ],
]

PARAMETERS = [
    *[
        Case(
            CHOOSE,
            (x, *limits(dtype), 1e-5, dtype),
            reference=DECOMPOSED.choose_qparams.tensor,
        )
        for dtype in (torch.int8, torch.uint8, torch.int16)
        for x in (
            VALUES,
            PERMUTED,
            VALUES.half(),
            VALUES.bfloat16(),
            VALUES.abs(),
            -VALUES.abs(),
            torch.zeros(3),
            VALUES * 1e-9,
            make_tensor(5, 3, seed=9) * 100,
        )
    ],
    *[
        Case(
            CHOOSE_TOKEN,
            (x, torch.int8),
            reference=DECOMPOSED.choose_qparams_per_token_asymmetric.default,
        )
        for x in (
            VALUES,
            PERMUTED,
            VALUES.half(),
            VALUES.bfloat16(),
            VALUES.abs(),
            -VALUES.abs(),
            torch.zeros(2, 3),
            make_tensor(40, 900),
            make_tensor(7),
            make_tensor(0, 3),
        )
    ],
]


CASES = [*QUANTIZE, *DEQUANTIZE, *PARAMETERS]


def _empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype)


INT8 = _empty(5, 7, dtype=torch.int8)
REFUSALS = [
    Refusal(QUANTIZE_TENSOR, (VALUES, 1.0, 0, 0, 255, torch.int8), "part of", outputs=(INT8,)),
    Refusal(QUANTIZE_TENSOR, (VALUES, 1.0, 0, 5, 4, torch.int8), "part of", outputs=(INT8,)),
    Refusal(QUANTIZE_TENSOR, (VALUES, 1.0, 0, 0, 9, torch.uint8), "uint8", outputs=(INT8,)),
    Refusal(
        QUANTIZE_TENSOR, (VALUES, 1.0, 0, 0, 9, torch.int64), "supported", outputs=(INT8.long(),)
    ),
    Refusal(QUANTIZE_TENSOR, (INT8, 1.0, 0, 0, 9, torch.int8), "float input", outputs=(INT8,)),
    Refusal(
        QUANTIZE_TENSOR_TENSOR,
        (VALUES, torch.ones(2), torch.tensor(1), 0, 9, torch.int8),
        "one scale",
        outputs=(INT8,),
    ),
    Refusal(
        QUANTIZE_CHANNEL,
        (VALUES, torch.ones(5), torch.ones(4).long(), 0, 0, 9, torch.int8),
        "5 scales but 4 zero points",
        outputs=(INT8,),
    ),
    Refusal(
        QUANTIZE_CHANNEL,
        (VALUES, torch.ones(5), torch.ones(5).long(), 1, 0, 9, torch.int8),
        "needs 7 scales",
        outputs=(INT8,),
    ),
    Refusal(
        QUANTIZE_CHANNEL,
        (VALUES, torch.ones(5), torch.ones(5).long(), 2, 0, 9, torch.int8),
        "out of range",
        outputs=(INT8,),
    ),
    Refusal(
        QUANTIZE_TOKEN,
        (VALUES, torch.ones(4), torch.ones(4).long(), 0, 9, torch.int8),
        "5 tokens",
        outputs=(INT8,),
    ),
    Refusal(
        DEQUANTIZE_TENSOR,
        (INT8, 1.0, 0, 0, 9, torch.uint8),
        "must be uint8",
        outputs=(_empty(5, 7),),
    ),
    Refusal(
        DEQUANTIZE_TENSOR, (INT8, 1.0, 0, 0, 9, torch.int8), "float output", outputs=(INT8.clone(),)
    ),
    Refusal(
        CHOOSE,
        (torch.zeros(0), -128, 127, 1e-5, torch.int8),
        "no elements",
        outputs=(_empty(1).double(), _empty(1).long()),
    ),
    Refusal(
        CHOOSE_TOKEN,
        (torch.zeros(2, 0), torch.int8),
        "no elements",
        outputs=(_empty(2, 1).double(), _empty(2, 1).long()),
    ),
]
