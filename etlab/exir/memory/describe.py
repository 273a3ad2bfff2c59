"""The plan of a method as data: what each tensor is, and where in the model it came from."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from torch import fx

from etlab.exir.memory.interval import Interval
from etlab.exir.memory.memories import Memory, aligned
from etlab.exir.memory.plan import MemoryPlan, PlannedTensor
from etlab.exir.provenance import module_of, source_place
from etlab.exir.schedule import Role, Schedule, Value

if TYPE_CHECKING:
    from etlab.exir.memory.planning import MemoryPlanningPass


def describe_plan(
    schedule: Schedule,
    intervals: Mapping[Value, Interval],
    places: Mapping[Value, tuple[int, int]],
    sizes: dict[int, int],
    memories: Sequence[Memory],
    options: "MemoryPlanningPass",
    uses: Mapping[Value, int],
    padding: int,
) -> MemoryPlan:
    """The `MemoryPlan` of a planned schedule."""
    operators = {output: call.name for call in schedule.calls for output in call.outputs}
    alignments = {place + 1: memory.alignment or 1 for place, memory in enumerate(memories)}
    tensors = []
    for index, (value, interval) in enumerate(intervals.items()):
        arena, offset = places[value]
        assert value.spec is not None
        tensors.append(
            PlannedTensor(
                id=index,
                name=value.target or value.name,
                operator=operators.get(value, "")
                if value.role is Role.RESULT
                else value.role.value,
                module="" if value.node is None else module_of(value.node),
                source="" if value.node is None else _source(value.node),
                nbytes=aligned(interval.nbytes, alignments.get(arena, options.alignment)),
                dtype=value.spec.dtype,
                shape=value.spec.sizes,
                memory_id=arena,
                offset=offset,
                first_use=interval.first,
                last_use=interval.last,
                uses=uses[value],
            )
        )
    return MemoryPlan(
        method=schedule.name,
        tensors=tuple(tensors),
        arena_sizes=sizes,
        alignment=options.alignment,
        steps=tuple(call.name for call in schedule.calls),
        planner=options.planner_name,
        memories=tuple(options.memories),
        padding=padding,
    )


def _source(node: fx.Node) -> str:
    """`file:line` of the model, with the file's whole path."""
    file, line, _ = source_place(node)
    return f"{file}:{line}" if file else ""
