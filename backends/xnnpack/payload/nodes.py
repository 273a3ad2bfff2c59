"""The nodes of a payload as dataclasses: fields in the order of `payload.fbs`, nodes in tag order.

Where the format gives several nodes one table, they derive from it.
"""

from dataclasses import dataclass
from typing import Any

from etlab.exir.emit.fields import Float32, UInt32, UInt32s

# Flags of nodes.
TRANSPOSE_WEIGHTS = 1
TRANSPOSE_B = 1
ALIGN_CORNERS = 8
KEEP_DIMS = 0x40


@dataclass(frozen=True, slots=True)
class OneInput:
    """A node of one input."""

    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class TwoInputs:
    """A node of two inputs."""

    input1_id: UInt32 = 0
    input2_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution of pictures (batch, height, width, channels)."""

    padding_top: UInt32 = 0
    padding_right: UInt32 = 0
    padding_bottom: UInt32 = 0
    padding_left: UInt32 = 0
    kernel_height: UInt32 = 0
    kernel_width: UInt32 = 0
    subsampling_height: UInt32 = 0
    subsampling_width: UInt32 = 0
    dilation_height: UInt32 = 0
    dilation_width: UInt32 = 0
    group_input_channels: UInt32 = 0
    group_output_channels: UInt32 = 0
    groups: UInt32 = 0
    adjustment_height: UInt32 = 0
    adjustment_width: UInt32 = 0
    input1_id: UInt32 = 0
    filter_id: UInt32 = 0
    bias_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class Pooling:
    """A pooling of pictures (batch, height, width, channels)."""

    padding_top: UInt32 = 0
    padding_right: UInt32 = 0
    padding_bottom: UInt32 = 0
    padding_left: UInt32 = 0
    pooling_height: UInt32 = 0
    pooling_width: UInt32 = 0
    stride_height: UInt32 = 0
    stride_width: UInt32 = 0
    dilation_height: UInt32 = 0
    dilation_width: UInt32 = 0
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class Concatenate:
    """Two to five inputs behind each other."""

    axis: UInt32 = 0
    input1_id: UInt32 = 0
    input2_id: UInt32 = 0
    input3_id: UInt32 = 0
    input4_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0
    input5_id: UInt32 = 0


@dataclass(frozen=True, slots=True)
class FullyConnected:
    """`input @ filter.T + bias`."""

    input1_id: UInt32 = 0
    filter_id: UInt32 = 0
    bias_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class StaticTranspose:
    """A permutation of dimensions."""

    num_dims: UInt32 = 0
    perm: UInt32s | None = None
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class StaticResizeBilinear2D:
    """A picture at another size."""

    new_height: UInt32 = 0
    new_width: UInt32 = 0
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class StaticConstantPad:
    """A border of one value."""

    pre_paddings: UInt32s | None = None
    post_paddings: UInt32s | None = None
    padding_value: Float32 = 0.0
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class StaticReshape:
    """Other sizes over the same elements; a size of 0 is inferred."""

    num_dims: UInt32 = 0
    new_shape: UInt32s | None = None
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class ArgMaxPooling2d:
    """Largest elements and their places in the window."""

    padding_top: UInt32 = 0
    padding_right: UInt32 = 0
    padding_bottom: UInt32 = 0
    padding_left: UInt32 = 0
    pooling_height: UInt32 = 0
    pooling_width: UInt32 = 0
    input_id: UInt32 = 0
    output_value_id: UInt32 = 0
    output_index_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class LeakyReLU:
    """`max(x, 0) + negative_slope * min(x, 0)`."""

    negative_slope: Float32 = 0.0
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class ELU:
    """`x` above zero, `alpha * (exp(x) - 1)` below."""

    alpha: Float32 = 0.0
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class StaticSlice:
    """A box out of a tensor."""

    num_dims: UInt32 = 0
    offsets: UInt32s | None = None
    sizes: UInt32s | None = None
    input_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


@dataclass(frozen=True, slots=True)
class ScaledDotProductAttention:
    """Attention; in the format, but ExecuTorch's runtime refuses it."""

    query_id: UInt32 = 0
    key_id: UInt32 = 0
    value_id: UInt32 = 0
    scale_id: UInt32 = 0
    mask_id: UInt32 = 0
    output_id: UInt32 = 0
    flags: UInt32 = 0


_FAMILIES: dict[str, type] = {
    "Add": TwoInputs,
    "FullyConnected": FullyConnected,
    "Softmax": OneInput,
    "Sigmoid": OneInput,
    "StaticTranspose": StaticTranspose,
    "Clamp": OneInput,
    "Conv2d": Convolution,
    "Div": TwoInputs,
    "StaticResizeBilinear2D": StaticResizeBilinear2D,
    "StaticConstantPad": StaticConstantPad,
    "AvgPooling2d": Pooling,
    "Minimum": TwoInputs,
    "DepthwiseConv2d": Convolution,
    "MaxPooling2d": Pooling,
    "Multiply": TwoInputs,
    "Subtract": TwoInputs,
    "Floor": OneInput,
    "Convert": OneInput,
    "GlobalAvgPooling2d": OneInput,
    "StaticReshape": StaticReshape,
    "ArgMaxPooling2d": ArgMaxPooling2d,
    "SquareRoot": OneInput,
    "Ceiling": OneInput,
    "Hardswish": OneInput,
    "LeakyReLU": LeakyReLU,
    "Maximum": TwoInputs,
    "Negate": OneInput,
    "Square": OneInput,
    "ELU": ELU,
    "Abs": OneInput,
    "PReLU": TwoInputs,
    "Concatenate2": Concatenate,
    "Concatenate3": Concatenate,
    "Concatenate4": Concatenate,
    "StaticSlice": StaticSlice,
    "ScaledDotProductAttention": ScaledDotProductAttention,
    "BatchMatrixMultiply": TwoInputs,
    "Concatenate5": Concatenate,
    "ConvTranspose2d": Convolution,
    "ReciprocalSquareRoot": OneInput,
    "Log": OneInput,
    "Gelu": OneInput,
    "Tanh": OneInput,
    "Exp": OneInput,
    "Sin": OneInput,
    "Copy": OneInput,
    "Cos": OneInput,
}

# Every node by name, in the order of their tags. Those that share a table are classes of their own.
NODES: dict[str, Any] = {
    name: table if table.__name__ == name else type(name, (table,), {"__slots__": ()})
    for name, table in _FAMILIES.items()
}
