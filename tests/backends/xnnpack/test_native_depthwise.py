"""Depthwise convolutions of floats: windows whose neighbours share columns, and any other."""

import math

import pytest
import torch
from interop.payload_programs import PayloadProgram
from torch.nn import functional

from etlab.errors import NotSupportedError
from etlab.runtime import _native
from etlab.testing import assert_same

# (kernel, stride, padding, dilation)
WINDOWS = [
    ((3, 3), (1, 1), (1, 1), (1, 1)),
    ((3, 3), (2, 2), (0, 1), (1, 1)),
    ((5, 5), (1, 1), (2, 2), (1, 1)),
    ((5, 5), (2, 2), (2, 1), (1, 1)),
    ((3, 3), (1, 1), (2, 2), (2, 2)),
    ((2, 4), (3, 1), (1, 3), (1, 1)),
    ((1, 3), (2, 4), (0, 0), (1, 1)),
]


def random(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def nhwc(x):
    return x.permute(0, 2, 3, 1).contiguous()


def program_of(x, weight, bias, expected, kernel, stride, padding, dilation):
    program = PayloadProgram()
    program.node(
        "DepthwiseConv2d",
        (-1.5, math.inf),
        input1_id=program.input(nhwc(x)),
        filter_id=program.constant(weight.permute(1, 2, 3, 0).contiguous()),
        bias_id=program.constant(bias),
        output_id=program.output(expected),
        groups=x.shape[1],
        group_input_channels=1,
        group_output_channels=weight.shape[0] // x.shape[1],
        kernel_height=kernel[0],
        kernel_width=kernel[1],
        subsampling_height=stride[0],
        subsampling_width=stride[1],
        dilation_height=dilation[0],
        dilation_width=dilation[1],
        padding_top=padding[0],
        padding_bottom=padding[0],
        padding_left=padding[1],
        padding_right=padding[1],
    )
    return program


@pytest.mark.parametrize("instruction_set", ["generic", "neon", "avx2", "avx512"])
@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation"), WINDOWS)
@pytest.mark.parametrize(("channels", "height", "width"), [(70, 19, 23), (19, 6, 5)])
def test_every_window_computes_what_eager_does(
    channels, height, width, kernel, stride, padding, dilation, instruction_set
):
    x, bias = random(2, channels, height, width), random(channels, seed=2)
    weight = random(channels, 1, *kernel, seed=3)
    result = functional.conv2d(x, weight, bias, stride, padding, dilation, channels)
    expected = nhwc(result.clamp(min=-1.5))
    program = program_of(x, weight, bias, expected, kernel, stride, padding, dilation)
    try:
        _native.use_instruction_set(instruction_set)
        assert_same(program.run()[0], expected)
    except NotSupportedError:
        pytest.skip(f"this processor has no {instruction_set}")
    finally:
        _native.use_instruction_set("best")


def test_one_channel_with_many_results_is_a_product():
    x, bias, weight = random(2, 1, 3, 300), random(70), random(70, 1, 1, 128, seed=3)
    result = functional.conv2d(x, weight, bias, (1, 64), (0, 5))
    expected = nhwc(result.clamp(min=-1.5))
    program = program_of(x, weight, bias, expected, (1, 128), (1, 64), (0, 5), (1, 1))
    assert_same(program.run()[0], expected)
