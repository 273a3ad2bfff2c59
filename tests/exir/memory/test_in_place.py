import pytest
import torch
from exir.lowering import Function, lower, seeded
from exir.memory.elementwise import program_of

from etlab.exir.emit.file import read_program
from etlab.exir.memory import MemoryPlanningPass
from etlab.exir.memory.dataflow import clobbered_values
from etlab.exir.memory.from_program import plan_of_program
from etlab.exir.reuse import ELEMENT_BY_ELEMENT
from etlab.runtime import Runtime

APART = MemoryPlanningPass(reuse_in_place=False)


def _run(program: bytes, *inputs: torch.Tensor) -> list[torch.Tensor]:
    method = Runtime.get().load_program(program).load_method("forward", check_memory=True)
    return method.execute(inputs)


def _check(function, *inputs: torch.Tensor, reused: int, **options) -> None:  # type: ignore[no-untyped-def]
    """Both plans compute what eager does; in one, so many results have no memory of their own."""
    small = lower(Function(function), *inputs, **options)
    large = lower(Function(function), *inputs, memory_planning_pass=APART, **options)
    plan = small.memory_plan()
    plan.check()
    assert len(large.memory_plan().tensors) - len(plan.tensors) == reused
    assert plan.lower_bound <= large.memory_plan().lower_bound
    expected = function(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for program in (small, large):
        for ours, eager in zip(_run(program.buffer, *inputs), expected, strict=True):
            torch.testing.assert_close(ours, eager)


def test_a_chain_of_elementwise_results_takes_one_place() -> None:
    _check(lambda x: (x @ x.t()).relu().sigmoid().neg() @ x, seeded(8, 4), reused=3)


def test_the_second_input_will_do_too() -> None:
    _check(lambda x: (x[:1] - (x @ x)) @ x, seeded(4, 4), reused=1)


def test_what_is_needed_later_is_not_overwritten() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x @ x
        return (y.relu() @ y) + y.flip(0)

    _check(function, seeded(4, 4), reused=1)  # the sum only


def test_a_result_and_its_source_that_are_both_returned_stay_apart() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x @ x
        return y, y.relu()

    _check(function, seeded(4, 4), reused=0)


def test_inputs_are_not_overwritten() -> None:
    _check(lambda x: x.relu() @ x.sin(), seeded(4, 4), reused=0)


def test_a_broadcast_input_is_not_overwritten() -> None:
    _check(lambda x: x.sum(0, keepdim=True) + x.sum(1, keepdim=True), seeded(3, 3), reused=0)


def test_an_argument_seen_in_another_shape_is_not_overwritten() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x @ x
        return y.view(4, 4, 1) * y.view(4, 1, 4)

    def same_bytes(x: torch.Tensor) -> torch.Tensor:
        y = x.sum(1, keepdim=True)  # (4, 1), seen as (1, 4) as well
        return y.view(1, 4).expand(4, 4) + y

    _check(function, seeded(4, 4), reused=0)
    _check(same_bytes, seeded(4, 4), reused=1)  # of what was expanded


def test_loops_keep_what_the_next_turn_needs() -> None:
    def function(count: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x @ x
        return torch._higher_order_ops.while_loop(
            lambda i, z: i < 3, lambda i, z: (i + 1, (z + y.sin()).relu()), (count, x)
        )

    program = lower(Function(function), torch.tensor(0), seeded(3, 3))
    outputs = _run(program.buffer, torch.tensor(0), seeded(3, 3))
    expected = function(torch.tensor(0), seeded(3, 3))
    torch.testing.assert_close(outputs, list(expected))


def test_branches_overwrite_only_their_own() -> None:
    def function(flag: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        y = x @ x
        z = torch.cond(flag, lambda y: y.relu() * 2, lambda y: (y @ y).neg().abs(), (y,))
        return z.exp()

    for flag in (torch.tensor(True), torch.tensor(False)):
        program = lower(Function(function), flag, seeded(3, 3))
        torch.testing.assert_close(
            _run(program.buffer, flag, seeded(3, 3))[0], function(flag, seeded(3, 3))
        )


def test_sizes_that_vary_take_over_where_there_is_one_input() -> None:
    rows = torch.export.Dim("rows", max=8)
    program = lower(
        Function(lambda x: (x @ x.t()).relu().sum(0)), seeded(8, 3), dynamic_shapes=(({0: rows},),)
    )
    for count in (8, 5, 1, 7):
        x = seeded(count, 3)
        torch.testing.assert_close(_run(program.buffer, x)[0], (x @ x.t()).relu().sum(0))
    assert any(item.uses > 2 for item in program.memory_plan().tensors)


def test_the_file_tells_what_was_reused() -> None:
    program = lower(Function(lambda x: (x @ x).relu().sigmoid() @ x), seeded(4, 4))
    (stored,) = read_program(program.buffer).program.execution_plan or ()
    read, ours = plan_of_program(stored), program.memory_plan()
    assert (read.lower_bound, read.peak) == (ours.lower_bound, ours.peak)
    read.check()
    assert clobbered_values(stored) == []


@pytest.mark.parametrize("name", sorted(ELEMENT_BY_ELEMENT))
def test_every_operator_computes_the_same_over_its_input(name: str) -> None:
    module, inputs = program_of(name)
    program = lower(module, *inputs)
    expected = _run(lower(module, *inputs, memory_planning_pass=APART).buffer, *inputs)
    torch.testing.assert_close(
        _run(program.buffer, *inputs), expected, rtol=0, atol=0, equal_nan=True
    )
    (stored,) = read_program(program.buffer).program.execution_plan or ()
    operators = {f"{item.name}.{item.overload}" for item in stored.operators or ()}
    assert name in operators
