"""Nodes that other nodes do along with their own work, unless somebody looks at each of them."""

import math

import pytest
import torch
from interop.integer_payloads import Source
from interop.payload_programs import PayloadProgram

from etlab.backends.xnnpack.payload.schema import Datatype, PerTensorQuant
from etlab.runtime import Runtime

INTEGERS = PerTensorQuant(0.05, -7)


def convolutions_between_clamps(source, limits, last_limits):
    """3x3, clamp, depthwise 3x3, clamp, all with one scale; the last clamp gives the result."""
    program = PayloadProgram()

    def value():
        return program.between((1, 6, 7, 20), Datatype.QINT8, INTEGERS)

    def convolve(name, given, shape):
        result = value()
        filter_ = program.constant(
            source.integers(*shape, low=-127), Datatype.QINT8, PerTensorQuant(0.01, 0)
        )
        bias = torch.randint(-3000, 3000, (20,), dtype=torch.int32, generator=source.generator)
        program.node(
            name,
            (-4.0, math.inf),
            input1_id=given,
            filter_id=filter_,
            bias_id=program.constant(bias, Datatype.QINT32, PerTensorQuant(0.0005, 0)),
            output_id=result,
            groups=20 if name == "DepthwiseConv2d" else 1,
            group_input_channels=1 if name == "DepthwiseConv2d" else 5,
            group_output_channels=1 if name == "DepthwiseConv2d" else 20,
            kernel_height=3,
            kernel_width=3,
            subsampling_height=1,
            subsampling_width=1,
            dilation_height=1,
            dilation_width=1,
            padding_top=1,
            padding_bottom=1,
            padding_left=1,
            padding_right=1,
        )
        return result

    given = program.input(source.integers(1, 6, 7, 5), Datatype.QINT8, INTEGERS)
    first = convolve("Conv2d", given, (20, 3, 3, 5))
    middle = value()
    program.node("Clamp", limits, input_id=first, output_id=middle)
    second = convolve("DepthwiseConv2d", middle, (1, 3, 3, 20))
    like = torch.empty(1, 6, 7, 20, dtype=torch.int8)
    last = program.output(like, Datatype.QINT8, INTEGERS)
    program.node("Clamp", last_limits, input_id=second, output_id=last)
    return program


@pytest.mark.parametrize(
    ("limits", "last_limits"),
    [((0.0, 6.0), (-1.0, 1.0)), ((-math.inf, -4.5), (0.0, math.inf)), ((2.0, 2.0), (-0.2, 0.3))],
)
def test_clamps_joined_to_convolutions_give_the_bits_of_clamps_of_their_own(limits, last_limits):
    program = convolutions_between_clamps(Source(5), limits, last_limits)
    method = Runtime.get().load_program(program.pte()).load_method("forward")
    (joined,) = method.execute(program.inputs)
    joined = joined.clone()
    with method.trace(results=True) as events:
        (apart,) = method.execute(program.inputs)
    names = [node.name for node in events[0].nodes]
    assert names == ["Conv2d", "Clamp", "DepthwiseConv2d", "Clamp"]
    first, clamped, _, last = (node.results[0].raw for node in events[0].nodes)
    scale, zero_point = INTEGERS.scale, INTEGERS.zero_point
    low, high = (min(max(x / scale + zero_point, -128), 127) for x in limits)
    assert torch.equal(clamped, first.clamp(round(low), round(high)))
    assert torch.equal(joined, apart)
    assert torch.equal(joined, last)
