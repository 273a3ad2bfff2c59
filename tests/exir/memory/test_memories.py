from typing import Any

import pytest
import torch
from exir.lowering import Function, lower, seeded
from torch import nn

from etlab.errors import InvalidArgumentError, MemoryPlanError
from etlab.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from etlab.exir.memory import Interval, Memory, MemoryPlanningPass
from etlab.exir.memory.memories import Request, place_in_memories
from etlab.exir.memory.search import search
from etlab.runtime import Runtime

DRAM = Memory("dram")


def _sram(capacity: int, **options: int) -> Memory:
    return Memory("sram", capacity, **options)


def _place(requests: list[Request], *memories: Memory) -> list[tuple[int, int]]:
    return place_in_memories(requests, memories, search, method="forward")


def _request(nbytes: int, first: int, last: int, uses: int = 2, **options: int) -> Request:
    return Request(f"t{first}", Interval(nbytes, first, last), uses, **options)


def test_what_is_used_most_for_its_time_lies_in_the_fast_memory() -> None:
    often, rarely = _request(64, 0, 4, uses=5), _request(64, 0, 4, uses=2)
    assert _place([rarely, often], _sram(64), DRAM) == [(1, 0), (0, 0)]


def test_the_fast_memory_serves_one_tensor_after_another() -> None:
    chain = [_request(64, step, step + 1) for step in range(5)]
    assert {memory for memory, _ in _place(chain, _sram(128), DRAM)} == {0}
    in_half = [memory for memory, _ in _place(chain, _sram(64), DRAM)]
    assert in_half.count(0) == 3


def test_what_is_larger_than_the_fast_memory_spills() -> None:
    assert _place([_request(80, 0, 1), _request(16, 1, 2)], _sram(64), DRAM) == [(1, 0), (0, 0)]


def test_each_memory_aligns_in_its_own_way() -> None:
    requests = [_request(20, 0, 1, pin=place) for place in (0, 0, 1, 1)]
    places = _place(requests, _sram(1000, alignment=64), Memory("dram", alignment=8))
    assert sorted(places) == [(0, 0), (0, 64), (1, 0), (1, 24)]


def test_a_pinned_tensor_lies_where_it_must() -> None:
    requests = [_request(64, 0, 1, uses=9, pin=1), _request(64, 0, 1, uses=1)]
    assert _place(requests, _sram(64), DRAM) == [(1, 0), (0, 0)]


@pytest.mark.parametrize("last", [0, 1])
def test_an_error_names_the_missing_bytes_and_their_holders(last: int) -> None:
    requests = [_request(96, 0, 2), _request(64, 1, 1), _request(32, 2, 2)]
    memories = [Memory("first", 0), Memory("second", 100)][1 - last :]
    with pytest.raises(
        MemoryPlanError,
        match=r"'second' lacks 60 bytes: method 'forward' needs 160 there and it has 100\."
        r" At step 1, where 160 bytes are needed at once, they are held by 't0' 96, 't1' 64\.",
    ):
        _place(requests, *memories)


def test_pins_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(MemoryPlanError, match="'sram' lacks 64 bytes"):
        _place([_request(128, 0, 1, pin=0)], _sram(64), DRAM)


def _model(x: torch.Tensor) -> torch.Tensor:
    y = (x @ x).softmax(1)
    return ((y @ x).relu() + y)[:, :2] * 3


def _run(program: bytes, *inputs: torch.Tensor) -> torch.Tensor:
    loaded = Runtime.get().load_program(program)
    return loaded.load_method("forward", check_memory=True).execute(inputs)[0]


@pytest.mark.parametrize("capacity", [0, 100, 200, 300, 10_000])
def test_a_program_in_two_memories_computes_the_same(capacity: int) -> None:
    planning = MemoryPlanningPass(memories=[_sram(capacity), DRAM])
    program = lower(Function(_model), seeded(5, 5), memory_planning_pass=planning)
    plan = program.memory_plan()
    plan.check()
    fast, *slow = plan.arenas
    assert (fast.name, fast.capacity) == ("sram", capacity)
    assert fast.nbytes <= capacity
    assert bool(slow) == (capacity < 10_000) == bool(plan.spilled)
    one = lower(Function(_model), seeded(5, 5))
    assert torch.equal(_run(program.buffer, seeded(5, 5)), _run(one.buffer, seeded(5, 5)))


def test_spilled_tensors_stand_by_the_bytes_that_they_move() -> None:
    planning = MemoryPlanningPass(memories=[_sram(200), DRAM])
    plan = lower(Function(_model), seeded(5, 5), memory_planning_pass=planning).memory_plan()
    traffic = [item.traffic for item in plan.spilled]
    assert traffic == sorted(traffic, reverse=True)
    assert sum(traffic) == plan.arenas[1].traffic
    assert sum(item.traffic for item in plan.tensors) == sum(one.traffic for one in plan.arenas)


def test_inputs_and_state_can_be_pinned() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(x)
            return (self.count * 2).sin()

    planning = MemoryPlanningPass(
        memories=[_sram(1000), DRAM], pinned={"count": "dram", "input": "dram"}
    )
    plan = lower(Counter(), seeded(3), memory_planning_pass=planning).memory_plan()
    pinned = {item.memory_id for item in plan.tensors if item.operator in ("input", "state")}
    free = {item.memory_id for item in plan.tensors if item.operator.startswith("aten::")}
    assert (pinned, free) == ({2}, {1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memories": [DRAM, DRAM]}, "different names"),
        ({"memories": [DRAM], "pinned": {"x": "sram"}}, "there is dram"),
        ({"pinned": {"x": "sram"}}, "there is none"),
    ],
)
def test_memories_that_make_no_sense_are_refused(options, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidArgumentError, match=message):
        MemoryPlanningPass(**options)


@pytest.mark.parametrize("memory", [{"capacity": -1}, {"alignment": 0}, {"alignment": 24}])
def test_a_memory_that_makes_no_sense_is_refused(memory: dict[str, int]) -> None:
    with pytest.raises(InvalidArgumentError, match="memory 'odd'"):
        Memory("odd", **memory)


def test_pinning_what_is_not_there_is_refused() -> None:
    planning = MemoryPlanningPass(memories=[_sram(64), DRAM], pinned={"nothing": "sram"})
    with pytest.raises(InvalidArgumentError, match="has no tensor nothing"):
        lower(Function(_model), seeded(5, 5), memory_planning_pass=planning)


def test_other_planning_can_be_tried_on_a_program() -> None:
    program = lower(Function(_model), seeded(5, 5))
    before = program.memory_plan()
    tried = program.memory_plan(planning=MemoryPlanningPass(memories=[_sram(200), DRAM]))
    assert [arena.name for arena in tried.arenas] == ["sram", "dram"]
    wide = program.memory_plan(planning=MemoryPlanningPass(alignment=256))
    assert all(item.offset % 256 == 0 for item in wide.tensors)
    assert program.memory_plan() == before


class _Memory(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("sum", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.sum.add_(x)
        return self.sum * 2


def _two_methods(**options: bool) -> ExecutorchProgramManager:
    planning = MemoryPlanningPass(memories=[_sram(1000), DRAM], pinned={"state": "dram"}, **options)
    model = _Memory()
    exported = torch.export.export(model, (seeded(3),), strict=False)
    edge = to_edge({"first": exported, "second": exported})
    return edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))


def test_state_that_would_be_taken_for_shared_is_refused() -> None:
    with pytest.raises(MemoryPlanError, match="share_mutable_buffers=True, or pin the state"):
        _two_methods()


def test_shared_state_lies_behind_the_memories() -> None:
    program = _two_methods(share_mutable_buffers=True)
    plan = program.memory_plan("second")
    assert [arena.name for arena in plan.arenas] == ["sram", "dram", "shared state"]
    loaded = Runtime.get().load_program(program.buffer)
    one = torch.ones(3)
    results = [loaded.load_method(name).execute((one,))[0] for name in ("first", "second")]
    assert [int(result[0]) for result in results] == [2, 4]


def test_memories_are_named_with_their_class() -> None:
    with pytest.raises(InvalidArgumentError, match=r"expected Memory\(name, capacity\).*'sram'"):
        MemoryPlanningPass(memories=["sram"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda _: 1 // 0, "failed on 1 tensors: ZeroDivisionError"),
        (lambda _: None, "expected a list of offsets, .* got None"),
        (lambda _: [0.5], "expected a list of offsets, .* got .0.5."),
    ],
)
def test_a_planner_that_fails_is_named(answer: Any, message: str) -> None:
    request = _request(16, 0, 1)
    with pytest.raises(MemoryPlanError, match=f"planner '<lambda>'.*{message}"):
        place_in_memories([request], [Memory("arena")], answer, method="forward")
