"""The plan of a method as data: what each tensor is, and where in the model it came from."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import fx

from etlab.exir.memory.interval import Interval
from etlab.exir.memory.memories import Memory, aligned
from etlab.exir.memory.plan import MemoryPlan, PlannedTensor
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
        meta = value.node.meta if value.node is not None else {}
        tensors.append(
            PlannedTensor(
                id=index,
                name=value.target or value.name,
                operator=operators.get(value, "")
                if value.role is Role.RESULT
                else value.role.value,
                module=_module_path(meta),
                source=_source(value.node),
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


def _module_path(meta: Mapping[str, Any]) -> str:
    """The innermost module of a node's module stack, as the model names it."""
    stack = meta.get("nn_module_stack")
    if not stack:
        return ""
    path = list(stack.values())[-1][0]
    return str(path).removeprefix("L['self'].").removeprefix("L['self']")


def _source(node: fx.Node | None) -> str:
    """File and line of the last frame of a node's stack trace."""
    trace = (node.meta.get("stack_trace") or "") if node is not None else ""
    frames = [line.strip() for line in trace.splitlines() if line.strip().startswith('File "')]
    if not frames:
        return ""
    path, _, rest = frames[-1].removeprefix('File "').partition('", line ')
    return f"{path}:{rest.split(',')[0]}"
