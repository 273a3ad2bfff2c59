"""Scales, limits and shifts of the integers that TOSA computes with."""

import math

import pytest
import torch

from etlab.backends.arm.builder import GraphBuilder
from etlab.backends.arm.format.operators import DType
from etlab.backends.arm.quantized import Scale
from etlab.backends.arm.scaling import can_rescale, multiplier_and_shift


@pytest.mark.parametrize("ratio", [1.0, 0.75, 1e-3, 3.7, 123456.0, 2.0**-31, 1 - 2.0**-40])
@pytest.mark.parametrize("bits", [32, 16])
def test_multiplier_and_shift_are_the_ratio_to_all_bits(ratio, bits):
    multiplier, shift = multiplier_and_shift(ratio, bits)
    assert 2 ** (bits - 2) <= multiplier < 2 ** (bits - 1)
    assert math.isclose(multiplier / 2.0**shift, ratio, rel_tol=2.0 ** (1 - bits))


def test_a_tiny_ratio_keeps_what_the_largest_shift_leaves():
    multiplier, shift = multiplier_and_shift(2.0**-45)
    assert (multiplier, shift) == (2**17, 62)
    assert multiplier_and_shift(2.0**-80) == (0, 62)


def test_a_rescaling_that_leaves_32_bits_is_refused():
    assert can_rescale(0.01, 2**31 - 1)
    assert not can_rescale(1.0, 2**29)
    assert not can_rescale(2.0**31, 1)
    assert not can_rescale(math.inf, 1)
    assert not can_rescale(0.0, 1)


def test_a_limit_at_the_end_of_the_range_is_the_last_integer():
    """ReLU6 on a grid from 0 to 6: nothing is cut off."""
    grid = Scale(6 / 255, -128)
    assert (grid.nearest(0.0), grid.nearest(6.0)) == (-128, 127)
    assert grid.nearest(1e30) == 127
    assert grid.nearest(-1e30) == -128


def test_numbers_become_the_integers_that_quantize_gives():
    grid = Scale(0.5, 3)
    numbers = [0.25, 0.75, -0.25, 1.25, 100.0]
    quantize = torch.fake_quantize_per_tensor_affine
    expected = quantize(torch.tensor(numbers), 0.5, 3, -128, 127) / 0.5 + 3
    assert [grid.nearest(number) for number in numbers] == expected.int().tolist()


def test_equal_constants_are_stored_once_and_names_stay_apart():
    graph = GraphBuilder()
    first = graph.constant([1, 2], DType.INT8, name="one")
    assert graph.constant([1, 2], DType.INT8, name="two") is first
    assert graph.constant([1, 2], DType.INT32, name="one").name == "one_2"
    assert graph.constant([-1], DType.INT48, name="wide").shape == (1,)
    entries = {entry.name: entry.data for entry in graph.finish(keeps_all=True).main.tensors}
    assert entries["wide"] == b"\xff" * 6
