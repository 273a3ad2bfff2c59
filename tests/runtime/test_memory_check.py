import dataclasses

import pytest
import torch
from edited_program import edit_program, edit_tensor, planned_values

from etlab import errors
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


def _all_in_one_place(plan):
    for value in planned_values(plan):
        plan = edit_tensor(
            plan,
            value,
            lambda tensor: dataclasses.replace(
                tensor,
                allocation_info=dataclasses.replace(tensor.allocation_info, memory_offset_low=0),
            ),
        )
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
