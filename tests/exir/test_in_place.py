"""Operators of a user that write their arguments, or return lists."""

import uuid

import pytest
import torch
from exir.lowering import Function, lower, seeded
from torch import nn

from etlab.errors import UnsupportedOperatorError
from etlab.exir import to_edge
from etlab.exir.graph import run_edge_graph
from etlab.runtime import Runtime, register_kernel, unregister_kernel
from etlab.runtime._native import custom_kernel_names
from etlab.testing import assert_same
from etlab.testing_graphs import check_lowering, export_module

LIBRARY = f"tests{uuid.uuid4().hex[:8]}"
OPS = getattr(torch.ops, LIBRARY)


@torch.library.custom_op(f"{LIBRARY}::bump", mutates_args={"x"})
def bump(x: torch.Tensor, by: float, *, times: int = 1) -> None:
    x.add_(by * times)


@torch.library.custom_op(f"{LIBRARY}::update", mutates_args={"cache"})
def update(cache: torch.Tensor, row: torch.Tensor, at: int) -> torch.Tensor:
    cache[at] = row
    return cache.sum(0)


@update.register_fake
def _(cache, row, at):
    return torch.empty_like(row)


@torch.library.custom_op(f"{LIBRARY}::swap", mutates_args={"x", "y", "z"})
def swap(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor | None = None) -> None:
    kept = x.clone()
    x.copy_(y)
    y.copy_(kept)
    if z is not None:
        z.zero_()


@torch.library.custom_op(f"{LIBRARY}::pieces", mutates_args=())
def pieces(x: torch.Tensor, count: int) -> list[torch.Tensor]:
    return [x * index for index in range(count)]


@pieces.register_fake
def _(x, count):
    return [torch.empty_like(x) for _ in range(count)]


DEFINED = torch.library.Library(LIBRARY, "FRAGMENT")
DEFINED.define("twice_(Tensor(a!) x) -> Tensor(a!)")
DEFINED.define("lengths(Tensor x) -> int[]")
DEFINED.define("all_(Tensor(a!)[] xs) -> ()")
DEFINED.define("first(Tensor(a) x) -> Tensor(a)")
DEFINED.define("announce(Tensor x) -> ()")
DEFINED.impl("twice_", lambda x: x.mul_(2), "CompositeExplicitAutograd")
DEFINED.impl("lengths", lambda x: [3], "CompositeExplicitAutograd")
DEFINED.impl("all_", lambda xs: None, "CompositeExplicitAutograd")
DEFINED.impl("first", lambda x: x.view_as(x), "CompositeExplicitAutograd")
DEFINED.impl("announce", lambda x: None, "CompositeExplicitAutograd")


@pytest.fixture(autouse=True)
def kernels():
    """Kernels for the length of a test."""
    for operator in (bump, update, swap, pieces, OPS.twice_):
        register_kernel(operator, operator)
    yield
    for name in custom_kernel_names():
        unregister_kernel(name)


def whole(x):
    y = x * 2
    bump(y, 1.5, times=2)
    return y, y + 1


def part(x):
    y = x * 2
    bump(y[0], 1.5)
    bump(y.t()[1], 2)
    return y


def kept(x):
    y = x * 2
    before = y.clone()
    bump(y, 1)
    return before * 3, y


def swapped(x):
    y, z = x + 1, x + 2
    swap(x, y)
    swap(y, z, y.new_ones(2))
    return y, z


def returned(x):
    y = x + 1
    return OPS.twice_(y) + y, y


def caller(x):
    bump(x, 3)
    return x.sum()


def listed(x):
    first, second, third = pieces(x, 3)
    return first + second, third


FUNCTIONS = {f.__name__: f for f in (whole, part, kept, swapped, returned, caller, listed)}


class Cache(nn.Module):
    """Writes a row a call, and reads what is there then."""

    def __init__(self, *, is_returned=False):
        super().__init__()
        self.is_returned = is_returned
        self.register_buffer("cache", torch.ones(4, 3))

    def forward(self, row, at):
        total = update(self.cache, row, 1)
        late = self.cache * at
        return (total, late, self.cache) if self.is_returned else (total, late)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_natively_a_written_argument_holds_what_eager_wrote(function):
    check_lowering(Function(function), seeded(2, 3))
    program = bytes(lower(Function(function), seeded(2, 3)).buffer)
    method = Runtime.get().load_program(program).load_method("forward")
    mine, eagers = seeded(2, 3), seeded(2, 3)
    expected = torch.utils._pytree.tree_leaves(function(eagers))
    for got, want in zip(method.execute([mine]), expected, strict=True):
        assert_same(got, want)
    assert_same(mine, eagers, "the input afterwards")


@pytest.mark.parametrize("is_returned", [False, True])
def test_state_is_written_from_call_to_call(is_returned):
    model = Cache(is_returned=is_returned)
    program = lower(model, seeded(3), torch.tensor(2.0))
    method = Runtime.get().load_program(bytes(program.buffer)).load_method("forward")
    for seed in range(3):
        inputs = (seeded(3, seed=seed), torch.tensor(float(seed)))
        for got, want in zip(method.execute(list(inputs)), model(*inputs), strict=True):
            assert_same(got, want)


def test_state_that_nothing_else_reads_is_written_where_it_lies():
    steps = lower(Cache(), seeded(3), torch.tensor(2.0)).memory_plan().steps
    assert steps == (f"{LIBRARY}::update.out", "aten::mul.out")


@pytest.mark.parametrize("function", [whole, swapped, listed], ids=lambda f: f.__name__)
def test_what_torch_made_functional_before_is_the_same(function):
    exported = export_module(Function(function), (seeded(2, 3),)).run_decompositions({})
    results, _ = run_edge_graph(to_edge(exported).edge_graph(), [seeded(2, 3)])
    expected = torch.utils._pytree.tree_leaves(function(seeded(2, 3)))
    for got, want in zip(results, expected, strict=True):
        assert_same(got, want)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            lambda x: x + OPS.lengths(x)[0],
            r"returns List\[int\].*register_kernel\('.*::lengths.out'",
        ),
        (lambda x: OPS.all_([x]), r"writes the list 'xs': pass .*register_kernel\('.*::all_'"),
        (lambda x: OPS.first(x) + 1, r"returns a view of an argument: return a copy"),
        (lambda x: OPS.announce(x), r"returns nothing and writes nothing"),
    ],
)
def test_what_no_program_can_call_is_refused_with_the_way_out(function, reason):
    exported = export_module(Function(lambda x: (function(x), x * 2)[1]), (seeded(2, 3),))
    with pytest.raises(UnsupportedOperatorError, match=reason):
        to_edge(exported)


def test_a_function_that_leaves_an_argument_alone_leaves_its_content():
    register_kernel(bump, lambda x, by, times: None)
    program = bytes(lower(Function(whole), seeded(2, 3)).buffer)
    method = Runtime.get().load_program(program).load_method("forward")
    assert_same(method.execute([seeded(2, 3)])[0], seeded(2, 3) * 2)
