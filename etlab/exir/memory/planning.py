"""Plans the memory of a schedule with the planner that the user chose."""

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from torch import fx

from etlab.errors import InvalidArgumentError, NotFoundError, NotSupportedError
from etlab.exir import memory
from etlab.exir.memory.check import check_offsets
from etlab.exir.memory.interval import Interval, Planner
from etlab.exir.memory.lifetimes import lifetimes_of
from etlab.exir.memory.plan import MemoryPlan, PlannedTensor
from etlab.exir.memory.shared_state import STATE_ARENA, SharedState
from etlab.exir.schedule import Role, Schedule, Value

_DELEGATE_PADDING = 64  # delegates may read past the end of their inputs


@dataclass(frozen=True, kw_only=True)
class MemoryPlanningPass:
    """How memory is planned, with ExecuTorch's documented arguments.

    Attributes:
        memory_planning_algo: a planner's name (see `list_planners`), or a function from intervals
            to offsets.
        allow_lifetime_and_storage_overlap: not served; plans are always checked.
        alloc_graph_input: give inputs memory of the method's; else the caller's is used.
        alloc_graph_output: give outputs memory of the method's; else the caller provides it.
        alloc_mutable_buffers: give state memory of the method's; it must be True.
        share_mutable_buffers: buffers of one name are the same memory in all methods, an arena of
            their own; without it every method has its own state.
        alignment: of every tensor, in bytes; a power of two.
    """

    memory_planning_algo: str | Planner = "search"
    allow_lifetime_and_storage_overlap: bool = False
    alloc_graph_input: bool = True
    alloc_graph_output: bool = True
    alloc_mutable_buffers: bool = True
    share_mutable_buffers: bool = False
    alignment: int = 16

    def __post_init__(self) -> None:
        """Refuse what is not served."""
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise InvalidArgumentError(
                f"MemoryPlanningPass: alignment must be a power of two, not {self.alignment}"
            )
        for name, value, served in (
            ("allow_lifetime_and_storage_overlap", self.allow_lifetime_and_storage_overlap, False),
            ("alloc_mutable_buffers", self.alloc_mutable_buffers, True),
        ):
            if value is not served:
                raise NotSupportedError(
                    f"MemoryPlanningPass: {name}={value} is not supported; leave it at {served}"
                )

    @property
    def planner_name(self) -> str:
        """The planner's name, for reports."""
        if isinstance(self.memory_planning_algo, str):
            return self.memory_planning_algo
        return str(getattr(self.memory_planning_algo, "__name__", "custom"))


@dataclass(frozen=True, slots=True, eq=False)
class PlannedMemory:
    """The outcome of planning.

    Attributes:
        places: arena and offset of every value with memory of its own.
        arena_sizes: bytes of each arena by memory id.
        intervals: lifetimes.
        nodes: where every instruction came from.
        describe: makes the `MemoryPlan`, which costs time that only inspection should pay.
    """

    places: dict[Value, tuple[int, int]]
    arena_sizes: dict[int, int]
    intervals: dict[Value, Interval]
    nodes: tuple[fx.Node | None, ...]
    describe: Callable[[], MemoryPlan]


def list_planners() -> list[str]:
    """Names of the planners: the modules of this folder that define a function of their name."""
    names = [module.name for module in pkgutil.iter_modules(memory.__path__)]
    return sorted(name for name in names if callable(_planner_in(name)))


def find_planner(algorithm: str | Planner) -> Planner:
    """The planner of a name.

    Raises:
        NotFoundError: there is none.
    """
    if not isinstance(algorithm, str):
        return algorithm
    planner: Planner | None = _planner_named(algorithm)
    if planner is None:
        raise NotFoundError(
            f"there is no memory planner '{algorithm}'; choose one of {', '.join(list_planners())}"
        )
    return planner


@cache
def _planner_named(name: str) -> Any:
    return _planner_in(name) if name in list_planners() else None


def _planner_in(name: str) -> Any:
    return getattr(import_module(f"{memory.__name__}.{name}"), name, None)


def mark_unplanned(schedule: Schedule, options: MemoryPlanningPass) -> None:
    """Note which inputs and outputs the caller provides memory for."""
    if not options.alloc_graph_input:
        for value in schedule.inputs:
            value.is_planned = False
    if not options.alloc_graph_output:
        for output in schedule.outputs:
            if isinstance(output, Value) and output.role is Role.RESULT:
                output.is_planned = False


def plan_memory(
    schedule: Schedule, options: MemoryPlanningPass, shared: SharedState | None = None
) -> PlannedMemory:
    """Give every value of a schedule its place, and check the planner's answer.

    Args:
        schedule: what to plan for.
        options: how.
        shared: where state lies that methods share.

    Raises:
        MemoryPlanError: the planner's answer is invalid.
    """
    planner = find_planner(options.memory_planning_algo)
    intervals = lifetimes_of(schedule, options.alignment)
    apart = {
        value: (STATE_ARENA, shared.offsets[value.target])
        for value in intervals
        if shared is not None and value.role is Role.STATE and value.target in shared.offsets
    }
    values = [value for value in intervals if value not in apart]
    own = [intervals[value] for value in values]
    offsets = planner(own)
    check_offsets(
        own,
        offsets,
        names=[value.name for value in values],
        alignment=options.alignment,
    )
    size = max(
        (offset + intervals[value].nbytes for value, offset in zip(values, offsets, strict=True)),
        default=0,
    )
    if any(call.operator is None for call in schedule.calls):
        size += _DELEGATE_PADDING
    places = {value: (1, offset) for value, offset in zip(values, offsets, strict=True)} | apart
    sizes = {1: size} if values or apart else {}
    if apart and shared is not None:
        sizes[STATE_ARENA] = shared.size
    steps = tuple(call.name for call in schedule.calls)
    nodes = tuple(call.node for call in schedule.calls)
    operators = _operators(schedule)

    def describe() -> MemoryPlan:
        tensors = tuple(
            _planned_tensor(index, value, places[value], interval, operators.get(value, ""))
            for index, (value, interval) in enumerate(intervals.items())
        )
        return MemoryPlan(
            schedule.name, tensors, sizes, options.alignment, steps, options.planner_name
        )

    return PlannedMemory(places, sizes, intervals, nodes, describe)


def _operators(schedule: Schedule) -> dict[Value, str]:
    return {output: call.name for call in schedule.calls for output in call.outputs}


def _planned_tensor(
    index: int, value: Value, place: tuple[int, int], interval: Interval, operator: str
) -> PlannedTensor:
    assert value.spec is not None
    meta = value.node.meta if value.node is not None else {}
    return PlannedTensor(
        id=index,
        name=value.target or value.name,
        operator=operator if value.role is Role.RESULT else value.role.value,
        module=_module_path(meta),
        source=_source(value.node),
        nbytes=interval.nbytes,
        dtype=value.spec.dtype,
        shape=value.spec.sizes,
        memory_id=place[0],
        offset=place[1],
        first_use=interval.first,
        last_use=interval.last,
    )


def _module_path(meta: dict[str, Any]) -> str:
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
