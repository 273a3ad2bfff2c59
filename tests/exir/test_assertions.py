"""What `torch._check` demands of values is demanded of every run, in both runtimes."""

import warnings

import pytest
import torch
from exir.lowering import Function, lower
from interop.official import run_official

from etlab.errors import InvalidArgumentError
from etlab.exir import to_edge
from etlab.exir.assertions import KEPT
from etlab.numerics.official import OfficialRuntimeError
from etlab.runtime import Runtime
from etlab.testing_graphs import check_lowering, export_module

LINES, NUMBERS = torch.arange(24.0).reshape(8, 3), torch.ones(4, 5)


def rows(x, n):
    count = n.item()
    torch._check(count >= 2)
    torch._check(count <= 7)
    torch._check(count % 2 == 0)
    torch._check(count != 4)
    return x.narrow(0, 0, count)


def scaled(x, n):
    factor = n.item()
    torch._check(factor > 0.5)
    return x * factor


def either(x, n):
    count = n.item()
    torch._check((count > 2) | (count == 0))
    return x + count


def parts(x, n):
    first, second = n.tolist()
    torch._check(first >= 0)
    torch._check(second >= 0)
    torch._check(first + second == 8)
    return x.split([first, second])[0] * 1


def found(x):
    places = x.nonzero()
    torch._check(places.shape[0] >= 1)
    return places + 1


def positive(x):
    torch._assert_async(x.sum() > 0)
    torch._assert_async(x[0, 0], "the corner is zero")
    return x + 1


def branches(x, n):
    def checked(x):
        torch._assert_async(n == 3, "n is not 3")
        return x + n

    return torch.cond(x.sum() > 0, checked, lambda x: x - 1, (x,))


# name: (function, inputs that hold, inputs that do not with what is said of them)
MODELS = {
    "rows": (
        rows,
        [(LINES, torch.tensor(6)), (LINES, torch.tensor(2))],
        [(LINES, torch.tensor(n), said) for n, said in [(1, ">= 2"), (8, "<= 7"), (4, "Ne(")]],
    ),
    "scaled": (
        scaled,
        [(LINES, torch.tensor(2.5))],
        [(LINES, torch.tensor(0.5), "0.5 <"), (LINES, torch.tensor(float("nan")), "0.5 <")],
    ),
    "either": (
        either,
        [(LINES, torch.tensor(3)), (LINES, torch.tensor(0))],
        [(LINES, torch.tensor(2), "|")],
    ),
    "parts": (
        parts,
        [(LINES, torch.tensor([3, 5])), (LINES, torch.tensor([8, 0]))],
        [(LINES, torch.tensor([3, 4]), "8)"), (LINES, torch.tensor([-1, 9]), ">= 0")],
    ),
    "found": (found, [(NUMBERS,)], [(NUMBERS * 0, ">= 1")]),
    "positive": (
        positive,
        [(NUMBERS,)],
        [(-NUMBERS, "is false"), (NUMBERS.tril(-1), "the corner is zero")],
    ),
    "branches": (
        branches,
        [(LINES, torch.tensor(3)), (-LINES, torch.tensor(2))],
        [(LINES, torch.tensor(2), "n is not 3")],
    ),
}


@pytest.mark.parametrize(("function", "good", "bad"), MODELS.values(), ids=MODELS)
def test_a_run_goes_on_exactly_when_eager_does(function, good, bad):
    check_lowering(Function(function), *good[0], more_inputs=good[1:])
    program = bytes(lower(Function(function), *good[0]).buffer)
    native = Runtime.get().load_program(program).load_method("forward")
    for inputs in good:
        expected = function(*inputs)
        assert torch.equal(native.execute(list(inputs))[0], expected)
        assert torch.equal(run_official(program, inputs)[0], expected)
    for *inputs, said in bad:
        with pytest.raises(InvalidArgumentError, match="assertion failed") as failure:
            native.execute(inputs)
        assert said in str(failure.value).rpartition("assertion failed")[2]
        with pytest.raises(OfficialRuntimeError, match="assertion failed"):
            run_official(program, inputs)


def test_a_failure_names_the_line_and_the_value():
    program = bytes(lower(Function(rows), LINES, torch.tensor(6)).buffer)
    native = Runtime.get().load_program(program).load_method("forward")
    with pytest.raises(
        InvalidArgumentError, match=r"at lowering\.py:\d+: u\d+ >= 2, where u\d+ is"
    ):
        native.execute([LINES, torch.tensor(0)])


@pytest.mark.parametrize(
    "function",
    [lambda x: x.nonzero() * 2, lambda x: x[x > 0] + 1, lambda x: x.reshape(x.shape[0], -1)],
)
def test_what_a_program_sees_to_anyway_is_not_asserted(function):
    sizes = {0: torch.export.Dim("rows", max=9)}
    exported = export_module(Function(function), (NUMBERS,), dynamic_shapes=((sizes,),))
    targets = {node.target for node in to_edge(exported).edge_graph().graph.nodes}
    assert not targets & KEPT


def test_an_assertion_that_no_program_can_make_is_named_in_a_warning():
    def bits(x, n):
        count = n.item()
        torch._check((count & 1) == 0)
        return x + count

    with pytest.warns(UserWarning, match="the assertion .* is not kept") as warned:
        program = bytes(lower(Function(bits), LINES, torch.tensor(2)).buffer)
    assert len(warned) == 1
    native = Runtime.get().load_program(program).load_method("forward")
    assert torch.equal(native.execute([LINES, torch.tensor(4)])[0], LINES + 4)


def test_programs_without_assertions_say_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lower(Function(lambda x: x + 1), NUMBERS)
