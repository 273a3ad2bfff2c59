from typing import Any

import pytest
import torch
from exir.lowering import Function, lower, seeded
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from etlab.runtime import Runtime

ZERO = torch.tensor(0)


def _steps(function: object, *inputs: torch.Tensor) -> list[str]:
    return list(lower(Function(function), *inputs).memory_plan().steps)


def test_branches_write_the_result_without_a_copy() -> None:
    steps = _steps(
        lambda x: torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, [x]), seeded(3)
    )
    assert steps[2:] == ["jump", "aten::mul.Scalar_out", "jump", "aten::sub.Scalar_out"]


def test_what_a_loop_reads_stays_until_its_end() -> None:
    from torch._higher_order_ops.map import map as torch_map

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        scale = y * 3
        result: torch.Tensor = torch_map(lambda row, s: (row * s).relu() + 1, x, scale)
        return result

    plan = lower(Function(function), seeded(4, 3), seeded(3)).memory_plan()
    scale = next(t for t in plan.tensors if t.operator == "aten::mul.Scalar_out")
    assert scale.last_use == plan.steps.index("jump")
    stack = next(t for t in plan.tensors if t.shape == (4, 3) and t.operator != "input")
    assert stack.first_use <= plan.steps.index("aten::select_copy.int_out")
    assert stack.last_use == len(plan.steps) - 1


def _run(function: Any, *inputs: torch.Tensor) -> list[torch.Tensor]:
    program = lower(Function(function), *inputs)
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    results: list[torch.Tensor] = []
    for _ in range(2):  # the second run begins with what the first one left behind
        results = [output.clone() for output in method.execute(list(inputs))]
    return results


INDEX = torch.tensor([[2, 0, 1]], dtype=torch.int32)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_conversion_in_one_branch_is_made_in_the_other_as_well(sign: float) -> None:
    def function(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return torch.cond(
            x.sum() > 0,
            lambda x, index: torch.gather(x, 1, index) * 2,
            lambda x, index: torch.gather(x, 1, index) - 1,
            [x, index],
        )

    x = torch.tensor([[1.0, 2.0, 3.0]]) * sign
    assert torch.equal(_run(function, x, INDEX)[0], function(x, INDEX))


def test_a_conversion_of_what_a_loop_carries_is_made_anew_after_it() -> None:
    def function(index: torch.Tensor, x: torch.Tensor) -> Any:
        def step(index: torch.Tensor, row: torch.Tensor) -> Any:
            return index.roll(1, 1), torch.gather(row, 1, index)

        last, rows = scan(step, index, x)
        return torch.gather(x[0], 1, last), rows

    x = seeded(2, 1, 3)
    expected = torch.gather(x[0], 1, INDEX.roll(2, 1))
    assert torch.equal(_run(function, INDEX, x)[0], expected)


def _swap(carried: Any, x: torch.Tensor) -> Any:
    first, second = carried
    return (second * 1, first + x), first + second


def _shift(carried: Any, x: torch.Tensor) -> Any:
    first, second = carried
    return (x * 2, first.reshape(3) + 0), second + first


def _old_one_out(carried: Any, x: torch.Tensor) -> Any:
    first, second = carried
    return (first * x, second - x), first.clone()


def _lstm_like(carried: Any, x: torch.Tensor) -> Any:
    hidden, cell = carried
    cell = cell * hidden.sigmoid() + x
    hidden = cell.tanh()
    return (hidden, cell), hidden.clone()


@pytest.mark.parametrize("step", [_swap, _shift, _old_one_out, _lstm_like])
def test_what_a_scan_carries_is_what_the_step_before_left(step: Any) -> None:
    def function(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> Any:
        (first, second), stack = scan(step, (a, b), x)
        return first, second, stack

    inputs = seeded(3), seeded(3, seed=1), seeded(5, 3, seed=2)
    carried, rows = (inputs[0], inputs[1]), []
    for x in inputs[2]:
        carried, row = step(carried, x)
        rows.append(row)
    for actual, wanted in zip(_run(function, *inputs), (*carried, torch.stack(rows)), strict=True):
        torch.testing.assert_close(actual, wanted)


def test_carried_values_that_swap_are_copied_before_either_is_written() -> None:
    def function(a: torch.Tensor, b: torch.Tensor) -> Any:
        return while_loop(
            lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b.clone(), a.clone()), (ZERO, a, b)
        )

    a, b = seeded(3), seeded(3, seed=1)
    _, first, second = _run(function, a, b)
    assert torch.equal(first, b)
    assert torch.equal(second, a)


def test_what_a_step_computes_afresh_is_written_to_what_is_carried() -> None:
    def function(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> Any:
        return scan(_lstm_like, (a, b), x)

    steps = _steps(function, seeded(3), seeded(3, seed=1), seeded(5, 3, seed=2))
    body = steps[steps.index("aten::select_copy.int_out") :]
    assert not any("clone" in step for step in body[: body.index("executorch_prim::add.Scalar")])
