"""Where the official runtime (executorch 1.5.1) cannot be the judge, with the reason.

A sample listed here must still be right in our runtime; a test also fails when an entry is no
longer needed.
"""

import torch
from interop.corpus import Sample

# Element types that only some of the official kernels take.
RARE_DTYPES = frozenset(
    {torch.uint16, torch.uint32, torch.uint64, torch.complex64, torch.complex128}
)

# Official kernels compute float64 partly in float32, and sum halves in halves.
OFFICIAL_TOLERANCES: dict[torch.dtype, float] = {
    torch.float64: 2e-5,
    torch.float32: 2e-5,
    torch.float16: 1e-2,
    torch.bfloat16: 6e-2,
}

_HALVES = (torch.float16, torch.bfloat16)
_SHIFTS = "shifts by the element's width and more wrap around"
_REMAINDER = "integer remainder takes the sign of C, floats differ near the divisor"
_HALF_MODULUS = "converts bfloat16 operands before it promotes them"
_INTEGER_POWER = "computes integer powers in float64, so they do not wrap around"
_MIXED = "refuses weights of another dtype than the input's"
_ROUNDING = "rounds interpolated integers otherwise than eager"
_SUMS = "sums halves in halves: the error grows with the number of elements"

# Operator and element types to the reason; None stands for every combination of element types.
DEFECTS: dict[tuple[str, tuple[torch.dtype, ...] | None], str] = {
    ("aten::_conj_physical.out", None): "takes complex tensors only",
    ("aten::bitwise_left_shift.Tensor_out", None): _SHIFTS,
    ("aten::bitwise_right_shift.Tensor_out", None): _SHIFTS,
    ("aten::remainder.Scalar_out", None): _REMAINDER,
    ("aten::remainder.Tensor_out", None): _REMAINDER,
    ("aten::pow.Tensor_Scalar_out", (torch.bool,)): "refuses a boolean exponent",
    ("aten::pow.Tensor_Tensor_out", (torch.uint8, torch.uint8)): _INTEGER_POWER,
    ("aten::pow.Tensor_Tensor_out", (torch.int8, torch.int8)): _INTEGER_POWER,
    **{("aten::logit.out", (half,)): "refuses halves" for half in _HALVES},
    **{
        ("aten::fmod.Tensor_out", (torch.bfloat16, other)): _HALF_MODULUS
        for other in (torch.float16, torch.float32, torch.float64)
    },
    ("aten::_log_softmax.out", (torch.float64,)): "refuses float64",
    ("aten::_upsample_bilinear2d_aa.out", (torch.uint8,)): _ROUNDING,
    ("aten::upsample_bilinear2d.vec_out", (torch.uint8,)): _ROUNDING,
    **{("aten::native_layer_norm.out", (half,)): _SUMS for half in _HALVES},
    **{
        (name, (half, *[torch.float32] * count)): _MIXED
        for half in _HALVES
        for name, count in (
            ("aten::_native_batch_norm_legit_no_training.out", 4),
            ("aten::native_group_norm.out", 2),
            ("aten::native_layer_norm.out", 2),
        )
    },
}

# Calls that the official exporter turns into something else.
EXPORTER_DEFECTS = {
    ("aten::pow.Tensor_Scalar_out", (torch.bool,)): "exports a boolean exponent as an integer",
}


def defect_of(sample: Sample) -> str | None:
    """Why the official runtime need not agree on a sample; None when it must."""
    for dtype in sample.dtypes:
        if dtype in RARE_DTYPES:
            return f"few official kernels take {dtype}"
    for key in ((sample.operator, sample.dtypes), (sample.operator, None)):
        if key in DEFECTS:
            return DEFECTS[key]
    return None
