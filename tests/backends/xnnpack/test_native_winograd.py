"""Convolutions of many channels with 3x3 windows: fewer products, the same numbers."""

import math

import pytest
import torch
from interop.payload_programs import PayloadProgram
from torch.nn import functional

from etlab.errors import NotSupportedError
from etlab.runtime import _native, set_thread_count, thread_count
from etlab.testing import assert_same

# (inputs, outputs, height, width, padding): tiles of four, ragged at both ends; tiles of two.
PICTURES = [(32, 40, 13, 17, 1), (70, 24, 12, 14, 0), (24, 99, 33, 5, 1), (35, 32, 6, 6, 1)]


def random(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def nhwc(x):
    return x.permute(0, 2, 3, 1).contiguous()


class Convolution:
    """A payload of one convolution, limited to [-2, infinity), and what eager makes of it."""

    def __init__(self, inputs, outputs, height, width, padding):
        self.weight = random(outputs, inputs, 3, 3, seed=2) * (9 * inputs) ** -0.5
        self.bias = random(outputs, seed=3)
        self.padding = padding
        self.x = random(2, inputs, height, width)

    def expected(self):
        x, weight, bias = self.x.double(), self.weight.double(), self.bias.double()
        return nhwc(functional.conv2d(x, weight, bias, padding=self.padding).clamp(min=-2))

    def run(self):
        program = PayloadProgram()
        outputs, inputs = self.weight.shape[:2]
        program.node(
            "Conv2d",
            (-2.0, math.inf),
            input1_id=program.input(nhwc(self.x)),
            filter_id=program.constant(nhwc(self.weight)),
            bias_id=program.constant(self.bias),
            output_id=program.output(self.expected().float()),
            groups=1,
            group_input_channels=inputs,
            group_output_channels=outputs,
            kernel_height=3,
            kernel_width=3,
            subsampling_height=1,
            subsampling_width=1,
            dilation_height=1,
            dilation_width=1,
            padding_top=self.padding,
            padding_bottom=self.padding,
            padding_left=self.padding,
            padding_right=self.padding,
        )
        return program.run()[0]


@pytest.mark.parametrize("instruction_set", ["generic", "neon", "avx2", "avx512"])
@pytest.mark.parametrize("sizes", PICTURES)
def test_results_are_near_those_of_exact_sums(sizes, instruction_set):
    convolution = Convolution(*sizes)
    expected = convolution.expected()
    try:
        _native.use_instruction_set(instruction_set)
        actual = convolution.run()
    except NotSupportedError:
        pytest.skip(f"this processor has no {instruction_set}")
    finally:
        _native.use_instruction_set("best")
    assert (actual - expected).abs().max() <= 3e-6 * expected.abs().max()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 3e38])
def test_numbers_that_are_not_finite_reach_only_the_windows_that_hold_them(value):
    convolution = Convolution(*PICTURES[0])
    convolution.x[1, 3, 5, 6] = value
    x, weight, bias = convolution.x, convolution.weight, convolution.bias
    expected = functional.conv2d(x, weight, bias, padding=1).clamp(min=-2)
    assert_same(convolution.run(), nhwc(expected))


@pytest.mark.parametrize("sizes", PICTURES)
def test_results_do_not_depend_on_the_number_of_threads(sizes):
    convolution = Convolution(*sizes)
    before = thread_count()
    results = []
    try:
        for threads in (1, 2, 5):
            set_thread_count(threads)
            results.append(convolution.run())
    finally:
        set_thread_count(before)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
