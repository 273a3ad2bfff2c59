"""What we write runs in the official runtime and in ours, and computes what eager does."""

import copy
from typing import Any

import pytest
import torch
from exir.lowering import lower
from exir.memory.elementwise import program_of
from interop.models import BEYOND_OFFICIAL, CONTROL_FLOW, MODELS
from interop.official import flatten, run_official, run_official_repeatedly
from torch import nn

from etlab.exir.memory import Memory, MemoryPlanningPass, list_planners
from etlab.exir.reuse import ELEMENT_BY_ELEMENT
from etlab.testing import assert_same

ALL = {**MODELS, **CONTROL_FLOW, **BEYOND_OFFICIAL}


def _eager(model: nn.Module, calls: Any) -> list[list[Any]]:
    results = []
    with torch.no_grad():
        for inputs in calls:
            results.append(copy.deepcopy(flatten(model(*copy.deepcopy(inputs)))))
    return results


def _compare(actual: list[list[Any]], expected: list[list[Any]], name: str) -> None:
    for turn, (outputs, wanted) in enumerate(zip(actual, expected, strict=True)):
        assert len(outputs) == len(wanted), name
        for index, (got, want) in enumerate(zip(outputs, wanted, strict=True)):
            if isinstance(want, torch.Tensor):
                assert_same(got, want.detach(), f"{name}, call {turn}, output {index}")
            else:
                assert got == want, f"{name}, call {turn}, output {index}"


def _run_ours(program: bytes, calls: Any) -> list[list[Any]]:
    from etlab.runtime import Runtime

    method = Runtime.get().load_program(program).load_method("forward")
    assert method is not None
    return [
        [out.clone() if isinstance(out, torch.Tensor) else out for out in method.execute(list(i))]
        for i in copy.deepcopy(calls)
    ]


@pytest.mark.parametrize("runtime", ["official", "ours"])
@pytest.mark.parametrize("name", ALL)
def test_program_computes_what_eager_does(name: str, runtime: str) -> None:
    model = ALL[name]
    module = model.build()
    reference = copy.deepcopy(module)
    program = lower(
        module, *copy.deepcopy(model.calls[0]), dynamic_shapes=model.dynamic_shapes, **model.options
    ).buffer
    run = run_official_repeatedly if runtime == "official" else _run_ours
    _compare(run(program, model.calls), _eager(reference, model.calls), name)


@pytest.mark.parametrize("planner", list_planners())
def test_unplanned_inputs_and_outputs_work_with_every_planner(planner: str) -> None:
    model = MODELS["convolutions"]
    module = model.build()
    planning = MemoryPlanningPass(
        memory_planning_algo=planner, alloc_graph_input=False, alloc_graph_output=False
    )
    program = lower(module, *model.calls[0], memory_planning_pass=planning).buffer
    for run in (run_official_repeatedly, _run_ours):
        _compare(run(program, model.calls), _eager(module, model.calls), planner)


@pytest.mark.parametrize("capacity", [0, 1024, 65536])
def test_both_runtimes_take_two_memories(capacity: int) -> None:
    model = MODELS["convolutions"]
    module = model.build()
    planning = MemoryPlanningPass(memories=[Memory("sram", capacity), Memory("dram")])
    program = lower(module, *model.calls[0], memory_planning_pass=planning)
    assert program.memory_plan().arenas[0].nbytes <= capacity
    for run in (run_official_repeatedly, _run_ours):
        _compare(run(program.buffer, model.calls), _eager(module, model.calls), f"{capacity} bytes")


def test_constant_methods_answer_in_both_runtimes() -> None:
    from etlab.runtime import Runtime

    model = MODELS["convolutions"]
    table = torch.arange(3)
    values = {"size": 7, "name": "net", "scale": -0.0, "table": [table, {"flag": True}]}
    program = lower(model.build(), *model.calls[0], constant_methods=values).buffer
    for name, value in values.items():
        method = Runtime.get().load_program(program).load_method(name)
        assert method is not None
        for outputs in (run_official_repeatedly(program, [()], name)[0], method.execute([])):
            _compare([list(outputs)], [flatten(value)], name)


def test_the_official_kernels_may_write_over_their_inputs() -> None:
    wrong = []
    for name in sorted(ELEMENT_BY_ELEMENT):
        module, inputs = program_of(name)
        apart = MemoryPlanningPass(reuse_in_place=False)
        expected = run_official(lower(module, *inputs, memory_planning_pass=apart).buffer, inputs)
        outputs = run_official(lower(module, *inputs).buffer, inputs)
        if not torch.equal(outputs[0].nan_to_num(7), expected[0].nan_to_num(7)):
            wrong.append(name)
    assert wrong == []
