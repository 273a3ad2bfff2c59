import dataclasses

import pytest
import torch
from edited_program import edit_program, edit_tensor, planned_values
from torch._higher_order_ops import scan, while_loop
from torch._higher_order_ops.map import map as torch_map

from etlab import errors
from etlab.exir import to_edge_transform_and_lower
from etlab.runtime import Runtime
from etlab.testing import assert_same


@pytest.mark.parametrize(
    "name", ["mlp", "add", "dynamic", "nested", "branches", "counter", "views", "rows"]
)
def test_right_plans_run_again_and_again_and_compute_the_same(load, example, compiler, name):
    _, args, kwargs = example(name)
    plain = load(name, compiler).load_method("forward")
    checked = load(name, compiler).load_method("forward", check_memory=True)
    inputs = [leaf.clone() for leaf in torch.utils._pytree.tree_leaves((args, kwargs))]
    for _ in range(3):
        expected = plain.execute([leaf.clone() for leaf in inputs])
        for got, want in zip(checked.execute(inputs), expected, strict=True):
            assert_same(got, want)


class ViewsOfState(torch.nn.Module):
    """Reads a buffer in other shapes, before and after it changes; another begins as it does."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("other", torch.zeros(()))

    def forward(self, x):
        y = x + self.count.reshape(1) + self.other.reshape(1, 1)
        self.count += 1
        self.other += 2
        return y, self.count.reshape(1) * 1


def _prefix_sums(carry, rows):
    return scan(lambda total, row: (total + row, total * row), carry, rows)


class ScanOfScans(torch.nn.Module):
    def forward(self, carry, blocks):
        return scan(lambda total, rows: (_prefix_sums(total, rows)[0], total * 2), carry, blocks)


class MapInScan(torch.nn.Module):
    def forward(self, carry, blocks):
        def step(total, rows):
            scaled = torch_map(lambda row, factor: row * factor, rows, total)
            return total + scaled.sum(0), total * 2

        return scan(step, carry, blocks)


class ScanInWhile(torch.nn.Module):
    def forward(self, count, carry, rows):
        return while_loop(
            lambda count, carry, rows: count < 3,
            lambda count, carry, rows: (count + 1, _prefix_sums(carry, rows)[0], rows.clone()),
            (count, carry, rows),
        )


_CARRY, _BLOCKS = torch.tensor([1.0, -2.0, 0.5]), torch.arange(24.0).reshape(4, 2, 3) / 16
_TRICKY = [
    (ViewsOfState, (torch.ones(2, 3),)),
    (ScanOfScans, (_CARRY, _BLOCKS)),
    (MapInScan, (_CARRY, _BLOCKS)),
    (ScanInWhile, (torch.tensor(0), _CARRY, _BLOCKS[0])),
]


@pytest.mark.parametrize(("kind", "inputs"), _TRICKY)
def test_views_of_state_and_loops_in_loops_raise_no_false_alarm(kind, inputs):
    exported = torch.export.export(kind(), inputs, strict=False)
    program = to_edge_transform_and_lower(exported).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward", check_memory=True)
    eager = kind()
    for _ in range(3):
        expected = torch.utils._pytree.tree_leaves(eager(*(one.clone() for one in inputs)))
        found = torch.utils._pytree.tree_leaves(method(*(one.clone() for one in inputs)))
        for got, want in zip(found, expected, strict=True):
            assert_same(got, want)


def test_two_buffers_of_equal_first_values_in_one_place_are_refused():
    exported = torch.export.export(ViewsOfState(), (torch.ones(2, 3),), strict=False)
    buffer = to_edge_transform_and_lower(exported).to_executorch().buffer

    def give_states_one_place(plan):
        for value in planned_values(plan):
            if plan.values[value].val.data_buffer_idx:
                plan = edit_tensor(plan, value, _at_zero)
        return plan

    program = Runtime.get().load_program(edit_program(bytes(buffer), give_states_one_place))
    method = program.load_method("forward", check_memory=True)
    with pytest.raises(errors.InvalidProgramError, match="memory plan: value"):
        method(torch.ones(2, 3))


def _at_zero(tensor):
    allocation = dataclasses.replace(tensor.allocation_info, memory_offset_low=0)
    return dataclasses.replace(tensor, allocation_info=allocation)


def _all_in_one_place(plan):
    for value in planned_values(plan):
        plan = edit_tensor(plan, value, _at_zero)
    return plan


@pytest.mark.parametrize("name", ["mlp", "nested", "counter"])
def test_a_plan_that_gives_one_place_to_two_live_values_is_refused(compiled, example, name):
    _, args, kwargs = example(name)
    program = Runtime.get().load_program(edit_program(compiled(name, "etlab"), _all_in_one_place))
    method = program.load_method("forward", check_memory=True)
    inputs = torch.utils._pytree.tree_leaves((args, kwargs))
    for _ in range(2):
        with pytest.raises(errors.InvalidProgramError, match=r"memory plan: .* value"):
            method.execute(inputs)


def test_methods_are_checked_when_the_environment_says_so(compiled, example, monkeypatch):
    _, args, _ = example("mlp")
    program = Runtime.get().load_program(edit_program(compiled("mlp", "etlab"), _all_in_one_place))
    program.load_method("forward").execute(args)
    monkeypatch.setenv("ETLAB_CHECK_MEMORY", "1")
    with pytest.raises(errors.InvalidProgramError, match="memory plan"):
        program.load_method("forward").execute(args)
    program.load_method("forward", check_memory=False).execute(args)
