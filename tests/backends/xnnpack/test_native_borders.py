"""A convolution takes over the border of zeros around what it reads, and nothing else."""

import pytest
import torch
from interop.payload_programs import D, PayloadProgram
from torch.nn import functional

from etlab.backends.xnnpack.payload.schema import PerTensorQuant
from etlab.runtime import Runtime
from etlab.testing import assert_same

BORDER = (2, 1, 1, 2)  # left, right, top, bottom
QUANT = PerTensorQuant(0.05, 3)
COARSE = PerTensorQuant(0.11, -7)


def random(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def nhwc(x):
    return x.permute(0, 2, 3, 1).contiguous()


def pad(program, source, target, border=BORDER, value=0.0):
    program.node(
        "StaticConstantPad",
        input_id=source,
        output_id=target,
        pre_paddings=(0, border[2], border[0], 0),
        post_paddings=(0, border[3], border[1], 0),
        padding_value=value,
    )


def convolve(program, source, target, channels, is_depthwise, weights):
    """A 3x3 window over `channels`; depthwise or to 5 channels."""
    groups, inputs, outputs = (channels, 1, 1) if is_depthwise else (1, channels, 5)
    program.node(
        "DepthwiseConv2d" if is_depthwise else "Conv2d",
        input1_id=source,
        output_id=target,
        groups=groups,
        group_input_channels=inputs,
        group_output_channels=outputs,
        kernel_height=3,
        kernel_width=3,
        subsampling_height=2,
        subsampling_width=1,
        dilation_height=1,
        dilation_width=1,
        padding_top=0,
        padding_bottom=0,
        padding_left=0,
        padding_right=0,
        **weights,
    )


def nodes_that_run(program):
    """Results, and the kinds of nodes that ran."""
    method = Runtime.get().load_program(program.pte()).load_method("forward")
    with method.trace() as events:
        results = method.execute(program.inputs)
    return results, [node.name for event in events for node in event.nodes]


@pytest.mark.parametrize("is_depthwise", [False, True])
@pytest.mark.parametrize("channels", [3, 18])
@pytest.mark.parametrize(
    ("border", "value", "is_folded"),
    [
        (BORDER, 0.0, True),
        (BORDER, 1.0, False),
        (BORDER, -0.0, False),
        ((3, 0, 0, 0), 0.0, False),  # a window would lie in the border whole
    ],
)
def test_float_border(is_depthwise, channels, border, value, is_folded):
    x = random(2, channels, 6, 7)
    weight = random(channels if is_depthwise else 5, 1 if is_depthwise else channels, 3, 3, seed=2)
    padded = functional.pad(x, border, value=value)
    groups = channels if is_depthwise else 1
    expected = nhwc(functional.conv2d(padded, weight, stride=(2, 1), groups=groups))
    program = PayloadProgram()
    between = program.between(nhwc(padded).shape)
    pad(program, program.input(nhwc(x)), between, border, value)
    order = (1, 2, 3, 0) if is_depthwise else (0, 2, 3, 1)
    weights = {"filter_id": program.constant(weight.permute(order).contiguous())}
    weights["bias_id"] = program.constant(torch.zeros(expected.shape[-1]))
    convolve(program, between, program.output(expected), channels, is_depthwise, weights)
    (actual,), names = nodes_that_run(program)
    assert_same(actual, expected)
    assert ("StaticConstantPad" not in names) == is_folded


def test_border_that_others_read_stays_for_them():
    x = random(1, 4, 5, 5)
    padded = nhwc(functional.pad(x, BORDER))
    weight = random(5, 4, 3, 3, seed=2)
    expected = nhwc(functional.conv2d(functional.pad(x, BORDER), weight, stride=(2, 1)))
    program = PayloadProgram()
    between = program.output(padded)
    pad(program, program.input(nhwc(x)), between)
    weights = {
        "filter_id": program.constant(nhwc(weight)),
        "bias_id": program.constant(torch.zeros(5)),
    }
    convolve(program, between, program.output(expected), 4, False, weights)
    (first, second), names = nodes_that_run(program)
    assert torch.equal(first, padded)
    assert_same(second, expected)
    assert names == ["StaticConstantPad", "Conv2d"]


@pytest.mark.parametrize("is_depthwise", [False, True])
@pytest.mark.parametrize(("back", "names"), [(QUANT, 1), (COARSE, 2)])
def test_border_between_conversions_to_float_and_back(is_depthwise, back, names):
    """Conversions back into the same numbers go with the border, others become one."""
    channels = 6
    generator = torch.Generator().manual_seed(3)
    q = torch.randint(-128, 128, (1, 6, 7, channels), generator=generator, dtype=torch.int8)
    shape = (1, 3, 3, channels) if is_depthwise else (5, 3, 3, channels)
    weight = torch.randint(-127, 128, shape, generator=generator, dtype=torch.int8)
    numbers = (q.float() - QUANT.zero_point) * QUANT.scale
    requantized = torch.round(numbers / back.scale).add(back.zero_point).clamp(-128, 127)
    left, right, top, bottom = BORDER
    padded = functional.pad(
        requantized - back.zero_point, (0, 0, left, right, top, bottom)
    ).double()
    order = (3, 0, 1, 2) if is_depthwise else (0, 3, 1, 2)
    sums = functional.conv2d(
        padded.permute(0, 3, 1, 2),
        weight.double().permute(order),
        stride=(2, 1),
        groups=channels if is_depthwise else 1,
    )
    scale = torch.tensor(back.scale) * torch.tensor(0.01) / torch.tensor(0.5)
    expected = nhwc(sums.float() * scale).round().clamp(-128, 127).to(torch.int8)
    program = PayloadProgram()
    like = (1, 9, 10, channels)
    floats, wide = program.between((1, 6, 7, channels)), program.between(like)
    between = program.between(like, D.QINT8, back)
    program.node("Convert", input_id=program.input(q, D.QINT8, QUANT), output_id=floats)
    pad(program, floats, wide)
    program.node("Convert", input_id=wide, output_id=between)
    bias = torch.zeros(expected.shape[-1], dtype=torch.int32)
    weights = {
        "filter_id": program.constant(weight, D.QINT8, PerTensorQuant(0.01, 0)),
        "bias_id": program.constant(bias, D.QINT32, PerTensorQuant(back.scale * 0.01, 0)),
    }
    result = program.output(expected, D.QINT8, PerTensorQuant(0.5, 0))
    convolve(program, between, result, channels, is_depthwise, weights)
    (actual,), ran = nodes_that_run(program)
    assert torch.equal(actual, expected)
    assert len(ran) == names
