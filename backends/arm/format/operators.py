"""TOSA's operators: a dataclass for the attributes of each, in the order of the schema.

Numbers that vary with the model (weights, zero points, shapes) are inputs of an operator, not
attributes. What has no attributes has an empty class of its own.
"""

from dataclasses import dataclass, make_dataclass
from enum import IntEnum
from typing import Annotated, Any

from etlab.exir.emit.fields import Boolean, Int32, Int32s, Items, OneOf, Scalar, UInt32


class DType(IntEnum):
    """The type of an element."""

    UNKNOWN = 0
    BOOL = 1
    INT4 = 2
    INT8 = 3
    INT16 = 4
    INT32 = 5
    INT48 = 6
    FP32 = 7
    FP16 = 8
    BF16 = 9
    SHAPE = 10
    FP8E4M3 = 11
    FP8E5M2 = 12
    FP6E2M3 = 13
    FP6E3M2 = 14
    FP4E2M1 = 15
    FP8UE8M0 = 16
    INT64 = 17
    MXINT8 = 18


class RoundingMode(IntEnum):
    """How RESCALE rounds halves."""

    UNKNOWN = 0
    SINGLE_ROUND = 1
    INEXACT_ROUND = 2
    DOUBLE_ROUND = 3


ElementType = Annotated[DType, Scalar("I")]
Number = Annotated[bytes, Items("B", 8)]  # of the operator's own type, little-endian
_Rounding = Annotated[RoundingMode, Scalar("I")]


@dataclass(frozen=True, slots=True)
class ArgMax:
    """The place of the largest element."""

    axis: Int32 = 0
    nan_mode: UInt32 = 0


@dataclass(frozen=True, slots=True)
class AvgPool2d:
    """Averages of windows; padding does not count. Inputs: values, two zero points."""

    kernel: Int32s | None = None
    stride: Int32s | None = None
    pad: Int32s | None = None
    acc_type: ElementType = DType.UNKNOWN


@dataclass(frozen=True, slots=True)
class Windows:
    """Sums over windows. Inputs: pictures (N, H, W, C), weights, bias, two zero points.

    Weights are (out, H, W, in), depthwise (H, W, C, multiplier).
    """

    pad: Int32s | None = None
    stride: Int32s | None = None
    dilation: Int32s | None = None
    local_bound: Boolean = False
    acc_type: ElementType = DType.UNKNOWN


@dataclass(frozen=True, slots=True)
class Fft2d:
    """A Fourier transform."""

    inverse: Boolean = False
    local_bound: Boolean = False


@dataclass(frozen=True, slots=True)
class MaxPool2d:
    """The largest elements of windows."""

    kernel: Int32s | None = None
    stride: Int32s | None = None
    pad: Int32s | None = None
    nan_mode: UInt32 = 0


@dataclass(frozen=True, slots=True)
class Rfft2d:
    """A Fourier transform of real numbers."""

    local_bound: Boolean = False


@dataclass(frozen=True, slots=True)
class TransposeConv2d:
    """Inputs as those of `Windows`; `out_pad` is added to the result's size."""

    out_pad: Int32s | None = None
    stride: Int32s | None = None
    local_bound: Boolean = False
    acc_type: ElementType = DType.UNKNOWN


@dataclass(frozen=True, slots=True)
class Clamp:
    """Limits, as bytes of the elements' type."""

    min_val: Number | None = None
    max_val: Number | None = None
    nan_mode: UInt32 = 0


@dataclass(frozen=True, slots=True)
class ArithmeticRightShift:
    """A shift of integers."""

    round: Boolean = False


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is reduced along one axis."""

    axis: Int32 = 0


@dataclass(frozen=True, slots=True)
class Extremum:
    """Of numbers that may be NaN."""

    nan_mode: UInt32 = 0


@dataclass(frozen=True, slots=True)
class ReducedExtremum:
    """Along one axis."""

    axis: Int32 = 0
    nan_mode: UInt32 = 0


@dataclass(frozen=True, slots=True)
class Transpose:
    """Dimension `perms[i]` of the input is dimension i of the result."""

    perms: Int32s | None = None


@dataclass(frozen=True, slots=True)
class Resize:
    """Inputs: pictures, scale, offset, border; mode 1 takes the nearest, 2 is bilinear."""

    mode: UInt32 = 0


@dataclass(frozen=True, slots=True)
class Rescale:
    """Inputs: integers, multipliers, shifts, two zero points."""

    scale32: Boolean = False
    rounding_mode: _Rounding = RoundingMode.UNKNOWN
    per_channel: Boolean = False
    input_unsigned: Boolean = False
    output_unsigned: Boolean = False


@dataclass(frozen=True, slots=True)
class Custom:
    """An operator outside of the specification."""

    operator_name: str | None = None
    domain_name: str | None = None
    implementation_attrs: Annotated[bytes, Items("B")] | None = None


@dataclass(frozen=True, slots=True)
class CondIf:
    """One of two regions."""

    then_graph: str | None = None
    else_graph: str | None = None


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """A region again and again."""

    cond_graph: str | None = None
    body_graph: str | None = None


@dataclass(frozen=True, slots=True)
class BlockScaled:
    """What works on blocks with a scale each (TOSA 1.1)."""

    block_size: UInt32 = 0


@dataclass(frozen=True, slots=True)
class AssertEqualShape:
    """A check of shapes (TOSA 1.1)."""

    allow_broadcast: Boolean = False


_EMPTY: dict[str, type] = {}


def _kind(name: str, *bases: type) -> type:
    """A class of attributes that only its name tells from others."""
    made = make_dataclass(name, (), bases=bases, frozen=True, slots=True)
    made.__module__ = __name__
    made.__doc__ = f"The operator {name}."
    return made


Conv2d, Conv3d, DepthwiseConv2d = (
    _kind(name, Windows) for name in ("Conv2d", "Conv3d", "DepthwiseConv2d")
)
ReduceSum = _kind("ReduceSum", Reduction)
Concat = _kind("Concat", Reduction)
MatMul, Sigmoid, Tanh, Add, Mul, Sub, Table = map(
    _kind, ("MatMul", "Sigmoid", "Tanh", "Add", "Mul", "Sub", "Table")
)
Pad, Reshape, Slice, Tile, Const, Identity, ConstShape = map(
    _kind, ("Pad", "Reshape", "Slice", "Tile", "Const", "Identity", "ConstShape")
)
Clz, LogicalLeftShift = map(_kind, ("Clz", "LogicalLeftShift"))
Maximum = _kind("Maximum", Extremum)
Minimum = _kind("Minimum", Extremum)
ReduceMax = _kind("ReduceMax", ReducedExtremum)
ReduceMin = _kind("ReduceMin", ReducedExtremum)
Reverse = _kind("Reverse", Reduction)

# Every operator by its number in the schema, with the class of its attributes.
_LISTED: list[tuple[str, type | tuple[type, ...] | None]] = [
    ("ARGMAX", ArgMax), ("AVG_POOL2D", AvgPool2d), ("CONV2D", Conv2d), ("CONV3D", Conv3d),
    ("DEPTHWISE_CONV2D", DepthwiseConv2d), ("FFT2D", Fft2d), ("MATMUL", MatMul),
    ("MAX_POOL2D", MaxPool2d), ("RFFT2D", Rfft2d), ("TRANSPOSE_CONV2D", TransposeConv2d),
    ("CLAMP", Clamp), ("ERF", None), ("SIGMOID", Sigmoid), ("TANH", Tanh), ("ADD", Add),
    ("ARITHMETIC_RIGHT_SHIFT", ArithmeticRightShift), ("BITWISE_AND", None), ("BITWISE_OR", None),
    ("BITWISE_XOR", None), ("INTDIV", None), ("LOGICAL_AND", None),
    ("LOGICAL_LEFT_SHIFT", LogicalLeftShift),
    ("LOGICAL_RIGHT_SHIFT", None), ("LOGICAL_OR", None), ("LOGICAL_XOR", None),
    ("MAXIMUM", Maximum), ("MINIMUM", Minimum), ("MUL", Mul), ("POW", None), ("SUB", Sub),
    ("TABLE", Table), ("ABS", None), ("BITWISE_NOT", None), ("CEIL", None), ("CLZ", Clz),
    ("COS", None), ("EXP", None), ("FLOOR", None), ("LOG", None), ("LOGICAL_NOT", None),
    ("NEGATE", None), ("RECIPROCAL", None), ("RSQRT", None), ("SIN", None), ("SELECT", None),
    ("EQUAL", None), ("GREATER", None), ("GREATER_EQUAL", None), ("REDUCE_ALL", (Reduction,)),
    ("REDUCE_ANY", (Reduction,)), ("REDUCE_MAX", ReduceMax), ("REDUCE_MIN", ReduceMin),
    ("REDUCE_PRODUCT", (Reduction,)), ("REDUCE_SUM", ReduceSum), ("CONCAT", Concat), ("PAD", Pad),
    ("RESHAPE", Reshape), ("REVERSE", Reverse), ("SLICE", Slice), ("TILE", Tile),
    ("TRANSPOSE", Transpose), ("GATHER", None), ("SCATTER", None), ("RESIZE", Resize),
    ("CAST", None), ("RESCALE", Rescale), ("CONST", Const), ("IDENTITY", Identity),
    ("CUSTOM", Custom), ("COND_IF", CondIf), ("WHILE_LOOP", WhileLoop), ("VARIABLE", None),
    ("VARIABLE_WRITE", None), ("VARIABLE_READ", None), ("CONST_SHAPE", ConstShape),
    # TOSA 1.1
    ("MATMUL_T_BLOCK_SCALED", (BlockScaled,)), ("CAST_FROM_BLOCK_SCALED", (BlockScaled,)),
    ("CAST_TO_BLOCK_SCALED", (BlockScaled,)), ("DIM", (Reduction,)), ("CONCAT_SHAPE", None),
    ("ADD_SHAPE", None), ("SUB_SHAPE", None), ("MUL_SHAPE", None), ("SLICE_SHAPE", None),
    ("EXP2_SHAPE", None), ("LOG2_CEIL_SHAPE", None), ("LOG2_FLOOR_SHAPE", None),
    ("MAX_SHAPE", None), ("MIN_SHAPE", None), ("MOD_SHAPE", None), ("DIV_CEIL_SHAPE", None),
    ("DIV_FLOOR_SHAPE", None), ("ASSERT_EQUAL_SHAPE", AssertEqualShape),
    ("CONV2D_BLOCK_SCALED", (BlockScaled,)), ("MAX_POOL2D_ADAPTIVE", (Extremum,)),
    ("AVG_POOL2D_ADAPTIVE", None), ("RESHAPE_BLOCK_SCALED", (BlockScaled,)),
    ("ROW_GATHER_BLOCK_SCALED", (BlockScaled,)), ("ROW_GATHER", None), ("MATMUL_T", None),
]  # fmt: skip

NAMES = tuple(name for name, _ in _LISTED)
KINDS: tuple[type, ...] = tuple(
    kind if isinstance(kind, type) else _kind(name, *(kind or ())) for name, kind in _LISTED
)
NUMBERS = {kind: number for number, kind in enumerate(KINDS, start=1)}
Attributes = Annotated[Any, OneOf(KINDS)]


def name_of(attributes: Any) -> str:
    """What the specification calls the operator of these attributes.

    >>> name_of(Conv2d())
    'CONV2D'
    """
    return NAMES[NUMBERS[type(attributes)] - 1]
