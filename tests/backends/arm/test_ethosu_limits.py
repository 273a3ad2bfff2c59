"""What the NPUs are said to refuse is what Vela refuses, on both sides of every limit."""

import pytest
import torch

from etlab.backends.arm.builder import GraphBuilder
from etlab.backends.arm.ethosu.compile_spec import EthosUCompileSpec
from etlab.backends.arm.ethosu.limits import why_not
from etlab.backends.arm.ethosu.vela import compile_graph
from etlab.backends.arm.format import operators as tosa
from etlab.backends.arm.format.file import write_graph
from etlab.backends.arm.format.operators import DType
from etlab.errors import LoweringError

pytest.importorskip("ethosu", reason="ethos-u-vela is not installed")

NO_PADDING = (0, 0, 0, 0)
WIDE = {DType.INT8: DType.INT32, DType.INT16: DType.INT48}  # what sums of products are


def filtered(attributes, weight, size, result, dtype=DType.INT8):
    """A graph of one convolution, of ones, on `size` rows and columns; results (rows, columns)."""
    graph = GraphBuilder()
    inside, outside = weight
    x = graph.input("x", (1, *size, 2), dtype)
    wide = attributes.acc_type
    kernel = graph.constant(torch.ones(inside).numpy(), DType.INT8, name="kernel")
    bias = graph.constant([0] * outside, wide, name="bias")
    inputs = [x, kernel, bias, graph.zero_point(0, dtype), graph.zero_point(0, DType.INT8)]
    sums = graph.emit(attributes, inputs, (1, *result, outside), wide, name="sums")
    return finished(graph, sums, dtype)


def finished(graph, sums, dtype=DType.INT8):
    graph.output(
        graph.rescale(sums, [0.01], zero_point=0, result_zero_point=0, dtype=dtype, name="result")
    )
    return graph.finish()


def convolution(dtype):
    attributes = tosa.Conv2d(NO_PADDING, (1, 1), (1, 1), False, WIDE[dtype])
    return filtered(attributes, ((2, 1, 1, 2), 2), (3, 3), (3, 3), dtype)


def depthwise(stride):
    attributes = tosa.DepthwiseConv2d(NO_PADDING, (1, stride), (1, 1), False, DType.INT32)
    return filtered(attributes, ((1, 1, 2, 1), 2), (3, 2 * stride + 1), (3, 3))


def transposed(strides, kernel=(2, 2), size=(3, 3), dtype=DType.INT8):
    attributes = tosa.TransposeConv2d(NO_PADDING, strides, False, WIDE[dtype])
    result = [(one - 1) * step + two for one, step, two in zip(size, strides, kernel, strict=True)]
    return filtered(attributes, ((2, *kernel, 2), 2), size, result, dtype)


def average(kernel, stride, padding):
    graph = GraphBuilder()
    size = kernel + 2 * stride - 2 * padding
    x = graph.input("x", (1, size, size, 2), DType.INT8)
    zero = graph.zero_point(0, DType.INT8)
    attributes = tosa.AvgPool2d((kernel,) * 2, (stride,) * 2, (padding,) * 4, DType.INT32)
    graph.output(graph.emit(attributes, [x, zero, zero], (1, 3, 3, 2), name="result"))
    return graph.finish()


def product(dtype):
    graph = GraphBuilder()
    left, right = (graph.input(name, (1, 3, 3), dtype) for name in "ab")
    zero = graph.zero_point(0, dtype)
    inputs = [left, right, zero, zero]
    sums = graph.emit(tosa.MatMul(), inputs, (1, 3, 3), WIDE[dtype], name="sums")
    return finished(graph, sums)


def total(length):
    graph = GraphBuilder()
    x = graph.input("x", (1, length, 1, 2), DType.INT32)
    sums = graph.emit(tosa.ReduceSum(1), [x], (1, 1, 1, 2), name="sums")
    return finished(graph, sums)


GRAPHS = {
    "depthwise, 3 apart": depthwise(3),
    "depthwise, 4 apart": depthwise(4),
    "transposed, (2, 2) apart": transposed((2, 2)),
    "transposed, of int16": transposed((1, 1), dtype=DType.INT16),
    "convolution of int16": convolution(DType.INT16),
    "transposed, (3, 3) apart": transposed((3, 3), (3, 3)),
    "transposed, (2, 1) apart": transposed((2, 1)),
    "transposed, (1, 2) apart, one row": transposed((1, 2), (1, 2), (1, 3)),
    "averages of 8, padded": average(8, 3, 4),
    "averages of 9, padded": average(9, 3, 1),
    "averages 4 apart, padded": average(4, 4, 1),
    "averages of 9, not padded": average(9, 4, 0),
    "product of int8": product(DType.INT8),
    "product of int16": product(DType.INT16),
    "sum of 65536": total(1 << 16),
    "sum of 65537": total((1 << 16) + 1),
}


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("name", GRAPHS)
def test_vela_takes_what_is_not_refused_and_nothing_else(name, target):
    spec = EthosUCompileSpec(target)
    reason = why_not(GRAPHS[name], spec.family)
    if reason is None:
        compile_graph(write_graph(GRAPHS[name]), spec)
        return
    assert "Ethos-U85" in reason
    with pytest.raises(LoweringError, match="could not run on NPU"):
        compile_graph(write_graph(GRAPHS[name]), spec)
