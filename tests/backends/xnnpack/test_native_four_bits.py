"""Linear layers whose weights stay packed in four bits, of rows quantized at run time."""

import pytest
import torch
from interop.payload_programs import PayloadProgram

from etlab.backends.xnnpack.payload.schema import (
    NO_VALUE,
    Datatype,
    PerChannelGroupQuant,
    PerChannelQuant,
    PerTokenDynamicQuant,
)
from etlab.runtime import set_thread_count, thread_count

# Heights of one tile and of several, widths of parts of a vector and of several panels, depths that
# fill no group of eight.
SIZES = [
    *[(rows, 40, 17) for rows in (1, 2, 3, 4, 5, 6, 7, 13)],
    *[(1, 34, columns) for columns in (1, 16, 31, 48, 64, 65, 96, 130, 200)],
    *[(3, depth, 18) for depth in (2, 6, 8, 10, 64)],
]


def linear(x, weights, kind, quant, bias=None):
    """A payload with one layer; weights as its kind stores them."""
    program = PayloadProgram()
    middle = program.between(x.shape, Datatype.QDINT8, PerTokenDynamicQuant(1))
    program.node("Convert", input_id=program.input(x), output_id=middle)
    columns = weights.shape[0]
    program.node(
        "FullyConnected",
        input1_id=middle,
        filter_id=program.constant(weights, kind, quant),
        bias_id=NO_VALUE if bias is None else program.constant(bias),
        output_id=program.output(torch.empty(x.shape[0], columns)),
    )
    return program


def in_pairs(weights):
    """Integers of -8 to 7, (columns, even depth), as two in a byte."""
    nibbles = (weights + 8).to(torch.uint8)
    return nibbles[:, ::2] | nibbles[:, 1::2] << 4


def blocks_of(generator, rows, depth, columns, block):
    x = torch.randn(rows, depth, generator=generator)
    weights = torch.randint(-8, 8, (columns, depth), generator=generator, dtype=torch.int8)
    scales = torch.rand(columns, depth // block, generator=generator).add(0.1).bfloat16()
    quant = PerChannelGroupQuant(tuple(scales.flatten().tolist()), 0, block)
    return x, weights, scales.float(), quant


@pytest.mark.parametrize(("rows", "depth", "columns"), SIZES)
def test_scales_by_columns_give_the_bits_of_the_same_weights_in_eight_bits(rows, depth, columns):
    generator = torch.Generator().manual_seed(rows * depth * columns)
    x = torch.randn(rows, depth, generator=generator)
    weights = torch.randint(-8, 8, (columns, depth), generator=generator, dtype=torch.int8)
    quant = PerChannelQuant(tuple(torch.rand(columns, generator=generator).add(0.1).tolist()), 0)
    bias = torch.randn(columns, generator=generator)
    (packed,) = linear(x, in_pairs(weights), Datatype.QCINT4, quant, bias).run()
    (whole,) = linear(x, weights, Datatype.QCINT8, quant, bias).run()
    assert torch.equal(packed, whole)


@pytest.mark.parametrize("block", [32, 64, 96])
@pytest.mark.parametrize(("rows", "columns"), [(1, 130), (5, 33), (20, 65)])
def test_scales_by_blocks_are_near_the_product_of_numbers(rows, columns, block):
    generator = torch.Generator().manual_seed(block + rows)
    x, weights, scales, quant = blocks_of(generator, rows, 2 * block, columns, block)
    (actual,) = linear(x, in_pairs(weights), Datatype.QBINT4, quant).run()
    numbers = weights.double() * scales.double().repeat_interleave(block, 1)
    low = x.amin(1, keepdim=True).clamp(max=0)
    step = (x.amax(1, keepdim=True).clamp(min=0) - low).double() / 255  # of the rows' integers
    bound = step / 2 * numbers.abs().sum(1) * 1.02 + 1e-4
    assert ((actual - x.double() @ numbers.T).abs() <= bound).all()


def test_results_do_not_depend_on_the_number_of_threads():
    generator = torch.Generator().manual_seed(0)
    x, weights, _, quant = blocks_of(generator, 9, 512, 1100, 32)
    program = linear(x, in_pairs(weights), Datatype.QBINT4, quant)
    threads = thread_count()
    results = []
    try:
        for count in (1, 2, 3):
            set_thread_count(count)
            results.append(program.run()[0])
    finally:
        set_thread_count(threads)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
