"""The native executor on float payloads: every node computes what eager does."""

import math

import pytest
import torch
from interop.payload_programs import PayloadProgram
from torch.nn import functional

from etlab.runtime import set_thread_count, thread_count
from etlab.testing import assert_same

X = torch.randn(2, 5, 7, 3, generator=torch.Generator().manual_seed(0))
UNARY = {
    "Abs": torch.abs,
    "Ceiling": torch.ceil,
    "Cos": torch.cos,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "Gelu": functional.gelu,
    "Hardswish": functional.hardswish,
    "Log": torch.log,
    "Negate": torch.neg,
    "ReciprocalSquareRoot": torch.rsqrt,
    "Sigmoid": torch.sigmoid,
    "Sin": torch.sin,
    "Square": torch.square,
    "SquareRoot": torch.sqrt,
    "Tanh": torch.tanh,
    "Copy": torch.clone,
    "Convert": torch.clone,
    "Softmax": lambda x: torch.softmax(x, -1),
}
BINARY = {
    "Add": torch.add,
    "Subtract": torch.sub,
    "Multiply": torch.mul,
    "Div": torch.div,
    "Maximum": torch.maximum,
    "Minimum": torch.minimum,
    "PReLU": lambda a, b: torch.where(a < 0, a * b, a),
}
SPECIAL = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -2.5])


def random(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def unary(name, x, expected, **fields):
    program = PayloadProgram()
    program.node(name, input_id=program.input(x), output_id=program.output(expected), **fields)
    return program


@pytest.mark.parametrize("name", UNARY)
def test_unary_node_computes_what_eager_does(name):
    x = X.abs() + 0.5 if name in ("Log", "SquareRoot", "ReciprocalSquareRoot") else X
    expected = UNARY[name](x)
    assert_same(unary(name, x, expected).run()[0], expected)


@pytest.mark.parametrize("name", ["Abs", "Ceiling", "Floor", "Hardswish", "Tanh", "Sigmoid", "Log"])
def test_unary_node_treats_special_numbers_as_eager_does(name):
    expected = UNARY[name](SPECIAL)
    assert_same(unary(name, SPECIAL, expected).run()[0], expected)


def test_clamp_leaky_relu_and_elu_take_their_parameters():
    x = 3 * X
    program = PayloadProgram()
    source = program.input(x)
    expected = [x.clamp(-1, 2), functional.leaky_relu(x, 0.3), functional.elu(x, 0.7)]
    ids = [program.output(value) for value in expected]
    program.node("Clamp", (-1.0, 2.0), input_id=source, output_id=ids[0])
    program.node("LeakyReLU", input_id=source, output_id=ids[1], negative_slope=0.3)
    program.node("ELU", input_id=source, output_id=ids[2], alpha=0.7)
    for actual, wanted in zip(program.run(), expected, strict=True):
        assert_same(actual, wanted)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [((2, 3, 5), (2, 3, 5)), ((2, 3, 5), (5,)), ((2, 1, 5), (3, 1)), ((1,), (4, 3)), ((), (3,))],
)
def test_binary_node_broadcasts_as_eager_does(name, a_shape, b_shape):
    a, b = random(*a_shape), random(*b_shape, seed=2)
    expected = BINARY[name](a, b)
    program = PayloadProgram()
    ids = {"input1_id": program.input(a), "input2_id": program.input(b)}
    program.node(name, output_id=program.output(expected), **ids)
    assert_same(program.run()[0], expected)


def test_limits_of_a_node_are_a_fused_activation():
    a, b = random(3, 5), random(3, 5, seed=2)
    program = PayloadProgram()
    ids = {"input1_id": program.input(a), "input2_id": program.constant(b)}
    expected = (a + b).clamp(0.0, 0.5)
    program.node("Add", (0.0, 0.5), output_id=program.output(expected), **ids)
    assert_same(program.run()[0], expected)


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("flags", [0, 1])
@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 7, 5), (9, 33, 70), (3, 1100, 17)])
def test_linear_layer_with_either_order_of_weights(rows, inputs, outputs, flags, is_constant):
    x, bias = random(2, rows, inputs), random(outputs)
    weight = random(outputs, inputs, seed=2) * inputs**-0.5
    expected = functional.linear(x, weight, bias).clamp(min=0)
    program = PayloadProgram()
    stored = weight.t().contiguous() if flags else weight
    program.node(
        "FullyConnected",
        (0.0, math.inf),
        input1_id=program.input(x),
        filter_id=program.constant(stored) if is_constant else program.input(stored),
        bias_id=program.constant(bias),
        output_id=program.output(expected),
        flags=flags,
    )
    assert_same(program.run()[0], expected)


@pytest.mark.parametrize("flags", [0, 1])
@pytest.mark.parametrize(
    ("a_batch", "b_batch"), [((), ()), ((3, 2), (3, 2)), ((3, 1), (2,)), ((), (4,))]
)
def test_batched_matrices_broadcast(a_batch, b_batch, flags):
    a, b = random(*a_batch, 5, 11), random(*b_batch, 11, 19, seed=2)
    expected = a @ b
    program = PayloadProgram()
    stored = b.transpose(-1, -2).contiguous() if flags else b
    ids = {"input1_id": program.input(a), "input2_id": program.input(stored)}
    program.node("BatchMatrixMultiply", output_id=program.output(expected), flags=flags, **ids)
    assert_same(program.run()[0], expected)


CONVOLUTIONS = [
    # (inputs, outputs, groups, kernel, stride, padding, dilation)
    (3, 8, 1, (3, 3), (2, 2), (1, 1), (1, 1)),
    (16, 70, 1, (1, 1), (1, 1), (0, 0), (1, 1)),
    (32, 9, 1, (3, 2), (1, 2), (2, 1), (2, 1)),
    (32, 6, 2, (3, 3), (1, 1), (1, 1), (1, 1)),
    (6, 9, 3, (2, 2), (1, 1), (0, 1), (1, 2)),
    (130, 20, 1, (3, 3), (1, 1), (1, 1), (1, 1)),
    (20, 5, 1, (9, 9), (1, 1), (4, 4), (1, 1)),
]


def window_fields(kernel, stride, padding, dilation):
    return {
        "kernel_height": kernel[0],
        "kernel_width": kernel[1],
        "subsampling_height": stride[0],
        "subsampling_width": stride[1],
        "dilation_height": dilation[0],
        "dilation_width": dilation[1],
        "padding_top": padding[0],
        "padding_bottom": padding[0],
        "padding_left": padding[1],
        "padding_right": padding[1],
    }


def nhwc(x):
    return x.permute(0, 2, 3, 1).contiguous()


def convolution(name, x, weight, bias, expected, limits=None, **fields):
    program = PayloadProgram()
    program.node(
        name,
        limits,
        input1_id=program.input(nhwc(x)),
        filter_id=program.constant(weight.contiguous()),
        bias_id=program.constant(bias),
        output_id=program.output(nhwc(expected)),
        **fields,
    )
    return program.run()[0]


@pytest.mark.parametrize(
    ("inputs", "outputs", "groups", "kernel", "stride", "padding", "dilation"), CONVOLUTIONS
)
def test_convolution(inputs, outputs, groups, kernel, stride, padding, dilation):
    x, bias = random(2, inputs, 9, 11), random(outputs)
    weight = random(outputs, inputs // groups, *kernel, seed=2) * inputs**-0.5
    expected = functional.conv2d(x, weight, bias, stride, padding, dilation, groups).clamp(max=4)
    actual = convolution(
        "Conv2d",
        x,
        nhwc(weight),
        bias,
        expected,
        (-math.inf, 4.0),
        groups=groups,
        group_input_channels=inputs // groups,
        group_output_channels=outputs // groups,
        **window_fields(kernel, stride, padding, dilation),
    )
    assert_same(actual, nhwc(expected))


@pytest.mark.parametrize("channels", [3, 16, 53])
@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize(("kernel", "stride"), [((3, 3), (1, 1)), ((5, 2), (2, 3))])
def test_depthwise_convolution(channels, multiplier, kernel, stride):
    x, bias = random(2, channels, 9, 10), random(channels * multiplier)
    weight = random(channels * multiplier, 1, *kernel, seed=2)
    expected = functional.conv2d(x, weight, bias, stride, 1, 1, channels).clamp(min=0)
    actual = convolution(
        "DepthwiseConv2d",
        x,
        weight.permute(1, 2, 3, 0),
        bias,
        expected,
        (0.0, math.inf),
        groups=channels,
        group_input_channels=1,
        group_output_channels=multiplier,
        **window_fields(kernel, stride, (1, 1), (1, 1)),
    )
    assert_same(actual, nhwc(expected))


@pytest.mark.parametrize(("groups", "stride"), [(1, (2, 2)), (2, (1, 3))])
def test_transposed_convolution(groups, stride):
    x, weight, bias = random(2, 4, 5, 6), random(4, 3, 3, 2, seed=2), random(3 * groups)
    adjustment = (stride[0] - 1, 0)
    expected = functional.conv_transpose2d(x, weight, bias, stride, 1, adjustment, groups)
    stored = weight.view(groups, 4 // groups, 3, 3, 2).permute(0, 2, 3, 4, 1)
    actual = convolution(
        "ConvTranspose2d",
        x,
        stored.reshape(3 * groups, 3, 2, 4 // groups),
        bias,
        expected,
        groups=groups,
        group_input_channels=4 // groups,
        group_output_channels=3,
        adjustment_height=adjustment[0],
        adjustment_width=adjustment[1],
        **window_fields((3, 2), stride, (1, 1), (1, 1)),
    )
    assert_same(actual, nhwc(expected))


def test_results_do_not_depend_on_the_number_of_threads():
    x, weight, bias = random(1, 32, 28, 28), random(64, 32, 3, 3, seed=2), random(64)
    expected = functional.conv2d(x, weight, bias, 1, 1)
    fields = window_fields((3, 3), (1, 1), (1, 1), (1, 1))
    channels = {"groups": 1, "group_input_channels": 32, "group_output_channels": 64}
    before = thread_count()
    results = []
    for threads in (1, 2, 3):
        set_thread_count(threads)
        results.append(convolution("Conv2d", x, nhwc(weight), bias, expected, **fields, **channels))
    set_thread_count(before)
    assert all(torch.equal(result, results[0]) for result in results)
