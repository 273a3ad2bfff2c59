"""Results as long as their input's values say, and what is only ours to compute."""

import warnings

import pytest
import torch
from exir.lowering import Function, lower, seeded
from interop.official import run_official

from etlab.errors import LoweringError
from etlab.runtime import Runtime
from etlab.testing import assert_same

NUMBERS = torch.tensor([1, 2, 2, 5])
ROWS = seeded(4, 3)


def counted(x):
    counts = torch.bincount(x)
    torch._check(counts.shape[0] <= 12)
    return counts


def weighed(x, weights):
    counts = torch.bincount(x, weights, minlength=8)
    torch._check(counts.shape[0] <= 12)
    return counts


def repeated(x, repeats):
    rows = torch.repeat_interleave(x, repeats, dim=0)
    torch._check(rows.shape[0] <= 20)
    return rows


def repeated_flat(x, repeats):
    elements = x.repeat_interleave(repeats)
    torch._check(elements.shape[0] <= 20)
    return elements


def repeated_columns(x, repeats):
    columns = torch.repeat_interleave(x, repeats, dim=-1)
    torch._check(columns.shape[1] <= 20)
    return columns


MODELS = {
    "counted": (counted, [(NUMBERS,), (NUMBERS * 2,), (NUMBERS * 0,)]),
    "counted_bytes": (counted, [(NUMBERS.to(torch.uint8),)]),
    "weighed": (weighed, [(NUMBERS, seeded(4)), (NUMBERS + 6, seeded(4))]),
    "weighed_double": (weighed, [(NUMBERS, torch.arange(4))]),
    "repeated": (repeated, [(ROWS, NUMBERS), (ROWS, NUMBERS * 0)]),
    "repeated_int32": (repeated, [(ROWS, NUMBERS.to(torch.int32))]),
    "repeated_flat": (repeated_flat, [(seeded(2, 2), NUMBERS)]),
    "repeated_columns": (repeated_columns, [(ROWS, torch.tensor([2])), (ROWS, torch.tensor([0]))]),
    "known": (
        lambda x, repeats: torch.repeat_interleave(x, repeats, dim=0, output_size=10),
        [(ROWS, NUMBERS)],
    ),
}


@pytest.mark.parametrize(("function", "inputs"), MODELS.values(), ids=MODELS)
def test_both_runtimes_find_as_much_as_eager(function, inputs):
    program = bytes(lower(Function(function), *inputs[0]).buffer)
    native = Runtime.get().load_program(program).load_method("forward")
    for given in inputs:
        want = function(*given)
        assert_same(native.execute(list(given))[0], want, "native")
        assert_same(run_official(program, given)[0], want, "official")


def test_without_a_bound_the_way_out_is_named():
    with pytest.raises(LoweringError, match=r"torch\._check\(size <= N\)"):
        lower(Function(torch.bincount), NUMBERS)


def spectrum(function):
    return lambda x: torch.view_as_real(function(torch.fft.rfft(x)))


@pytest.mark.parametrize(
    ("function", "operator"),
    [
        (lambda x: torch.view_as_real(1j * x), "aten::mul.out"),
        (spectrum(lambda z: z.mean()), "aten::div.Scalar_out"),
        (spectrum(lambda z: -z), "aten::neg.out"),
        (spectrum(lambda z: z.cumsum(0)), "aten::cumsum.out"),
        (lambda x: torch.view_as_real(torch.fft.fft(x)), "aten::_fft_r2c.out"),
    ],
    ids=["times_i", "mean", "negation", "running_sum", "whole_spectrum"],
)
def test_complex_calls_that_only_run_natively_are_warned_of(function, operator):
    with pytest.warns(UserWarning, match=f"the official runtime's kernel of {operator} refuses"):
        program = bytes(lower(Function(function), ROWS).buffer)
    native = Runtime.get().load_program(program).load_method("forward")
    assert_same(native.execute([ROWS])[0], function(ROWS))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(x + 1)),
        spectrum(lambda z: torch.cat([z, z])[1:].sum(0)),
        lambda x: torch.fft.rfft(x).abs(),
    ],
)
def test_complex_calls_that_run_officially_are_not(function):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = bytes(lower(Function(function), ROWS).buffer)
    assert_same(run_official(program, [ROWS])[0], function(ROWS))
