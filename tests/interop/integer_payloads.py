"""Random payloads of one integer node each, for comparing runtimes to the bit."""

import math
import random
from collections.abc import Callable

import torch
from interop.payload_programs import D, PayloadProgram

from etlab.backends.xnnpack.payload.schema import (
    NO_VALUE,
    PerChannelGroupQuant,
    PerChannelQuant,
    PerTensorQuant,
    PerTokenDynamicQuant,
)

UNARY = (
    "Abs", "Ceiling", "Cos", "ELU", "Exp", "Floor", "Gelu", "Hardswish", "LeakyReLU", "Log",
    "Negate", "ReciprocalSquareRoot", "Sigmoid", "Sin", "Square", "SquareRoot", "Tanh", "Clamp",
)  # fmt: skip
BINARY = ("Add", "Subtract", "Multiply", "Div", "Maximum", "Minimum", "PReLU")
SHAPES = (
    ((2, 3, 70), (2, 3, 70)),
    ((2, 3, 70), (70,)),
    ((2, 3, 70), (1,)),
    ((1,), (5, 33)),
    ((2, 1, 7), (3, 1)),
)


class Source:
    """Random choices of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)

    def choice(self, *options):
        return self.random.choice(options)

    def integers(self, *shape, low=-128, dtype=torch.int8):
        high = 128 if dtype == torch.int8 else 256
        return torch.randint(low, high, shape, dtype=dtype, generator=self.generator)

    def floats(self, *shape):
        scale = 10 ** self.random.uniform(-2, 2)
        return torch.randn(shape, generator=self.generator) * scale

    def whole(self, low=-7.0, high=0.0):
        """One scale and zero point."""
        return PerTensorQuant(2 ** self.random.uniform(low, high), self.random.randrange(-128, 128))

    def scales(self, count):
        return tuple(2 ** self.random.uniform(-9, -5) for _ in range(count))

    def limits(self, quant):
        """None, or a range that cuts some results off."""
        if self.random.random() < 0.5:
            return None
        low = (self.random.randrange(-128, 60) - quant.zero_point) * quant.scale
        return (low, self.choice(math.inf, low + quant.scale * 60))


def _weights(program, source, shape, outputs, channel_dim, input_scale):
    """Ids of int8 weights and their bias, with one scale or one each output."""
    weights = source.integers(*shape, low=-127)
    bias = torch.randint(-3000, 3000, (outputs,), dtype=torch.int32, generator=source.generator)
    if source.choice(True, False):
        scales = source.scales(outputs)
        together = tuple(input_scale * scale for scale in scales)
        return {
            "filter_id": program.constant(weights, D.QCINT8, PerChannelQuant(scales, channel_dim)),
            "bias_id": program.constant(bias, D.QCINT32, PerChannelQuant(together, 0)),
        }
    scale = source.scales(1)[0]
    return {
        "filter_id": program.constant(weights, D.QINT8, PerTensorQuant(scale, 0)),
        "bias_id": program.constant(bias, D.QINT32, PerTensorQuant(scale * input_scale, 0)),
    }


# Kernel widths, steps and dilations: the kernels treat the usual ones apart.
WINDOWS = [(3, 2, 1), (5, 1, 1), (5, 2, 1), (7, 2, 1), (4, 5, 1), (3, 1, 2)]


def linear(source):
    program = PayloadProgram()
    inputs, outputs = source.choice(1, 3, 4, 7, 33, 200), source.choice(1, 3, 17, 40, 130)
    rows = source.choice(1, 2, 7, 9)
    given, result = source.whole(), source.whole(-4, 1)
    program.node(
        "FullyConnected",
        source.limits(result),
        input1_id=program.input(source.integers(rows, inputs), D.QINT8, given),
        output_id=program.output(source.integers(rows, outputs), D.QINT8, result),
        **_weights(program, source, (outputs, inputs), outputs, 0, given.scale),
    )
    return program


def convolution(name, width=3, stride_w=1, dilation=1, result_scales=(-5, 0)):
    def build(source):
        program = PayloadProgram()
        groups, inputs = source.choice(1, 1, 2), source.choice(1, 3, 4, 16, 33)
        outputs = source.choice(1, 3, 17, 70)
        if name == "DepthwiseConv2d":
            groups, inputs, outputs = source.choice(3, 16, 32, 65, 90), 1, 1
        size = (source.choice(5, 8), source.choice(1, 3) + 2 * width)
        kernel = (source.choice(1, 2, 3), width)
        kernel = (5, 5) if width == 5 else kernel
        stride = (source.choice(1, 2), stride_w)
        padding = (min(1, kernel[0] - 1), source.choice(0, 1) * dilation)
        if name == "ConvTranspose2d":
            out = [
                s * (n - 1) + k - 2 * p
                for n, k, s, p in zip(size, kernel, stride, padding, strict=True)
            ]
        else:
            out = [
                (n + 2 * p - dilation * (k - 1) - 1) // s + 1
                for n, k, s, p in zip(size, kernel, stride, padding, strict=True)
            ]
        count = groups * outputs
        shape, dim = (count, *kernel, inputs), 0
        if name == "DepthwiseConv2d":
            shape, dim = (1, *kernel, count), 3
        given, result = source.whole(), source.whole(*result_scales)
        program.node(
            name,
            source.limits(result),
            input1_id=program.input(source.integers(1, *size, groups * inputs), D.QINT8, given),
            output_id=program.output(source.integers(1, *out, count), D.QINT8, result),
            groups=groups,
            group_input_channels=inputs,
            group_output_channels=outputs,
            kernel_height=kernel[0],
            kernel_width=kernel[1],
            subsampling_height=stride[0],
            subsampling_width=stride[1],
            dilation_height=dilation,
            dilation_width=dilation,
            padding_top=padding[0],
            padding_bottom=padding[0],
            padding_left=padding[1],
            padding_right=padding[1],
            **_weights(program, source, shape, count, dim, given.scale),
        )
        return program

    return build


def binary(name):
    def build(source):
        program = PayloadProgram()
        a, b = source.choice(*SHAPES)
        result = source.whole()
        has_limits = name in ("Add", "Subtract", "Multiply")
        like = torch.empty(torch.broadcast_shapes(a, b), dtype=torch.int8)
        program.node(
            name,
            source.limits(result) if has_limits else None,
            input1_id=program.input(source.integers(*a), D.QINT8, source.whole()),
            input2_id=program.input(source.integers(*b), D.QINT8, source.whole()),
            output_id=program.output(like, D.QINT8, result),
        )
        return program

    return build


def unary(name):
    def build(source):
        program = PayloadProgram()
        x = torch.arange(-128, 128, dtype=torch.int8)
        given, result = source.whole(), source.whole()
        parameters = {
            "LeakyReLU": {"negative_slope": source.choice(-0.3, 0.6)},
            "ELU": {"alpha": source.choice(0.4, 1.5)},
        }
        limits = None
        if name == "Clamp":
            result = source.choice(given, result)
            limits = source.limits(result) or (-1.0, 1.0)
        program.node(
            name,
            limits,
            input_id=program.input(x, D.QINT8, given),
            output_id=program.output(x, D.QINT8, result),
            **parameters.get(name, {}),
        )
        return program

    return build


def one_picture(name, output_shape, *, same_quant=True, **fields):
    def build(source):
        program = PayloadProgram()
        channels = source.choice(3, 16, 70)
        given = source.whole()
        result = given if same_quant else source.whole()
        like = torch.empty((*output_shape, channels), dtype=torch.int8)
        program.node(
            name,
            source.limits(result) if name == "MaxPooling2d" else None,
            input_id=program.input(source.integers(1, 6, 7, channels), D.QINT8, given),
            output_id=program.output(like, D.QINT8, result),
            **fields,
        )
        return program

    return build


def quantize(source):
    program = PayloadProgram()
    x = source.floats(3, 50)
    like = torch.empty(3, 50, dtype=torch.int8)
    out = program.output(like, D.QINT8, source.whole())
    program.node("Convert", input_id=program.input(x), output_id=out)
    return program


def dequantize(source):
    program = PayloadProgram()
    x = torch.arange(-128, 128, dtype=torch.int8)
    given = program.input(x, D.QINT8, source.whole())
    program.node("Convert", input_id=given, output_id=program.output(x.float()))
    return program


def rows_quantized_at_run_time(kind):
    def build(source):
        program = PayloadProgram()
        inputs, outputs = source.choice(32, 64, 256), source.choice(1, 17, 40, 130)
        rows = source.choice(1, 2, 9)
        middle = program.between((rows, inputs), D.QDINT8, PerTokenDynamicQuant(1))
        given = program.input(source.floats(rows, inputs))
        program.node("Convert", input_id=given, output_id=middle)
        if kind == D.QBINT4:
            scales = torch.tensor(source.scales(outputs * inputs // 32)).bfloat16().tolist()
            quant = PerChannelGroupQuant(tuple(scales), 0, 32)
        else:
            quant = PerChannelQuant(source.scales(outputs), 0)
        if kind == D.QCINT8:
            weights = source.integers(outputs, inputs, low=-127)
        else:
            weights = source.integers(outputs, inputs // 2, low=0, dtype=torch.uint8)
        bias = torch.randn(outputs, generator=source.generator)
        program.node(
            "FullyConnected",
            source.choice(None, (0.0, math.inf), (-0.5, 0.5)),
            input1_id=middle,
            filter_id=program.constant(weights, kind, quant),
            bias_id=source.choice(program.constant(bias), NO_VALUE),
            output_id=program.output(torch.empty(rows, outputs)),
        )
        return program

    return build


POOL = {
    "pooling_height": 2, "pooling_width": 3, "stride_height": 2, "stride_width": 2,
    "dilation_height": 1, "dilation_width": 1,
}  # fmt: skip
PADDING = {
    "pre_paddings": (0, 1, 2, 0), "post_paddings": (1, 0, 1, 0), "padding_value": 0.7,
}  # fmt: skip

# What makes a payload of a kind from a source.
KINDS: dict[str, Callable[[Source], PayloadProgram]] = {
    "linear": linear,
    "quantize": quantize,
    "dequantize": dequantize,
    **{name: convolution(name) for name in ("Conv2d", "DepthwiseConv2d", "ConvTranspose2d")},
    **{
        f"{name} {width} wide, step {step}, dilation {dilation}": convolution(
            name, width, step, dilation
        )
        for name in ("Conv2d", "DepthwiseConv2d")
        for width, step, dilation in WINDOWS
    },
    # Sums times scales may leave 32 bits.
    **{
        f"{name} with large scales": convolution(name, result_scales=(-14, -12))
        for name in ("Conv2d", "DepthwiseConv2d")
    },
    **{name: binary(name) for name in BINARY},
    **{name: unary(name) for name in UNARY},
    "MaxPooling2d": one_picture("MaxPooling2d", (1, 3, 3), **POOL),
    "StaticConstantPad": one_picture("StaticConstantPad", (2, 7, 10), **PADDING),
    "mean": one_picture("GlobalAvgPooling2d", (1, 1, 1), same_quant=False, flags=0x40),
    "resize": one_picture("StaticResizeBilinear2D", (1, 9, 4), new_height=9, new_width=4),
}
# The same where float follows the sums: instruction sets may differ in the last bit.
DYNAMIC_KINDS = {
    kind.name: rows_quantized_at_run_time(kind) for kind in (D.QCINT8, D.QCINT4, D.QBINT4)
}
