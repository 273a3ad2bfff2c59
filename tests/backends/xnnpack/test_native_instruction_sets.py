"""The native executor computes the same on every instruction set of this processor."""

import contextlib

import pytest
import torch
from interop.integer_payloads import DYNAMIC_KINDS, KINDS, Source

from etlab.errors import NotSupportedError
from etlab.runtime import _native

INSTRUCTION_SETS = [
    "generic",
    "neon",
    "neon-base",
    "avx2",
    "avx2-base",
    "avx512",
    "avx512-base",
]


@contextlib.contextmanager
def instruction_set(name):
    """Use an instruction set for a while; skips the test where the processor lacks it."""
    try:
        _native.use_instruction_set(name)
    except NotSupportedError:
        pytest.skip(f"this processor has no {name}")
    try:
        yield
    finally:
        _native.use_instruction_set("best")


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
def test_integer_nodes_give_the_same_bits(name):
    programs = [make(Source(3)) for make in KINDS.values()]
    expected = [program.run() for program in programs]
    with instruction_set(name):
        actual = [program.run() for program in programs]
    for kind, ours, best in zip(KINDS, actual, expected, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(ours, best, strict=True)), kind


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
def test_rows_quantized_at_run_time_differ_in_the_last_bit_at_most(name):
    programs = [make(Source(3)) for make in DYNAMIC_KINDS.values()]
    expected = [program.run()[0] for program in programs]
    with instruction_set(name):
        actual = [program.run()[0] for program in programs]
    for kind, ours, best in zip(DYNAMIC_KINDS, actual, expected, strict=True):
        largest = best.abs().amax(-1, keepdim=True)
        assert ((ours - best).abs() <= 1e-6 * largest).all(), kind
