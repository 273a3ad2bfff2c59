"""Plans the memory of a schedule with the planner and the memories that the user chose."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from etlab.errors import InvalidArgumentError, MemoryPlanError, NotSupportedError
from etlab.exir.memory.check import check_places
from etlab.exir.memory.describe import describe_plan
from etlab.exir.memory.interval import Interval, Planner
from etlab.exir.memory.lifetimes import lifetimes_of, uses_of
from etlab.exir.memory.memories import (
    Memory,
    Request,
    aligned,
    is_power_of_two,
    place_in_memories,
)
from etlab.exir.memory.plan import MemoryPlan
from etlab.exir.memory.planners import find_planner
from etlab.exir.memory.shared_state import DELEGATE_PADDING, SharedState
from etlab.exir.schedule import Role, Schedule, Value

_ONE_MEMORY = (Memory("arena"),)


@dataclass(frozen=True, kw_only=True)
class MemoryPlanningPass:
    """How memory is planned, with ExecuTorch's documented arguments and some of etlab's own.

    Attributes:
        memory_planning_algo: a planner's name (see `list_planners`), or a function from intervals
            to offsets.
        allow_lifetime_and_storage_overlap: must be False: tensors alive together never overlap.
        alloc_graph_input: give inputs memory of the method's; else the caller's is used.
        alloc_graph_output: give outputs memory of the method's; else the caller provides it.
        alloc_mutable_buffers: must be True: a file keeps first values of state in its memory only.
        share_mutable_buffers: buffers of one name are the same memory in all methods, an arena of
            their own; without it every method has its own state.
        alignment: of every tensor, in bytes; a power of two.
        memories: of the device, the preferred one first; the place in this list, from 1, is the
            memory id in the program. Without any there is one of unlimited size. Etlab's own.
        pinned: the memory's name by the name of an input, a buffer or a node of the edge graph, or
            "input" or "state" for all of these. Etlab's own.
        reuse_in_place: let a result computed element by element take the memory of an input that
            nothing needs any more. Etlab's own.
    """

    memory_planning_algo: str | Planner = field(default="search", kw_only=False)
    allow_lifetime_and_storage_overlap: bool = False
    alloc_graph_input: bool = True
    alloc_graph_output: bool = True
    alloc_mutable_buffers: bool = True
    share_mutable_buffers: bool = False
    alignment: int = 16
    memories: Sequence[Memory] = ()
    pinned: Mapping[str, str] = field(default_factory=dict)
    reuse_in_place: bool = True

    def __post_init__(self) -> None:
        """Refuse what is not served."""
        if not is_power_of_two(self.alignment):
            raise InvalidArgumentError(
                f"MemoryPlanningPass: alignment must be a power of two, not {self.alignment}"
            )
        if self.allow_lifetime_and_storage_overlap:
            raise NotSupportedError(
                "MemoryPlanningPass: allow_lifetime_and_storage_overlap=True is not supported:"
                " where tensors alive together overlap, a program computes something else."
                " Results that may take the memory of their input do so by reuse_in_place=True"
            )
        if not self.alloc_mutable_buffers:
            raise NotSupportedError(
                "MemoryPlanningPass: alloc_mutable_buffers=False is not supported: a file cannot"
                " hold first values of state that has no memory, and every caller would have to"
                " bind each buffer before the first run. memories=[...] and pinned={'state': ...}"
                " put state where it shall lie; share_mutable_buffers=True gives all methods one"
            )
        strangers = [one for one in self.memories if not isinstance(one, Memory)]
        if strangers:
            raise InvalidArgumentError(
                "MemoryPlanningPass: memories: expected Memory(name, capacity) of"
                f" etlab.exir.memory, got {strangers[0]!r}"
            )
        names = [memory.name for memory in self.memories]
        if len(set(names)) < len(names):
            raise InvalidArgumentError(
                f"MemoryPlanningPass: memories must have different names, not {', '.join(names)}"
            )
        for tensor, memory in self.pinned.items():
            if memory not in names:
                raise InvalidArgumentError(
                    f"MemoryPlanningPass: '{tensor}' is pinned to memory '{memory}'; there is"
                    f" {', '.join(names) or 'none; name them in memories=[Memory(...)]'}"
                )

    def run(self, graph_module: fx.GraphModule, graph_signature: Any = None) -> Any:
        """Choose memories before the planning; this one chooses none.

        A subclass sets `node.meta["spec"].mem_id` (see `etlab.exir.memory_pools`) and returns what
        this returns.

        Args:
            graph_module: the method's calls of out variants, to be looked at.
            graph_signature: what its placeholders and outputs mean.
        """
        return PassResult(graph_module, True)

    @property
    def planner_name(self) -> str:
        """The planner's name, for reports."""
        if isinstance(self.memory_planning_algo, str):
            return self.memory_planning_algo
        algorithm = getattr(self.memory_planning_algo, "func", self.memory_planning_algo)
        return str(getattr(algorithm, "__name__", "custom"))

    @property
    def state_arena(self) -> int:
        """The memory id of state that methods share."""
        return max(len(self.memories), 1) + 1


@dataclass(frozen=True, slots=True, eq=False)
class PlannedMemory:
    """The outcome of planning.

    Attributes:
        places: arena and offset of every value with memory of its own.
        arena_sizes: bytes of each arena by memory id, from 1 without a gap.
        intervals: bytes, not aligned, and lifetimes.
        nodes: where every instruction came from.
        describe: makes the `MemoryPlan`, which costs time that only inspection should pay.
    """

    places: dict[Value, tuple[int, int]]
    arena_sizes: dict[int, int]
    intervals: dict[Value, Interval]
    nodes: tuple[fx.Node | None, ...]
    describe: Callable[[], MemoryPlan]

    def __post_init__(self) -> None:
        """Refuse what is no valid plan: none is ever emitted."""
        check_places(
            [
                (value.name, self.intervals[value], arena, offset)
                for value, (arena, offset) in self.places.items()
            ],
            self.arena_sizes,
        )


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
        MemoryPlanError: the planner's answer is invalid, or a memory is too small.
        InvalidArgumentError: a name is pinned that the method does not have.
    """
    intervals = lifetimes_of(schedule)
    apart = {
        value: (options.state_arena, shared.offsets[value.target])
        for value in intervals
        if shared is not None and value.role is Role.STATE and value.target in shared.offsets
    }
    values = [value for value in intervals if value not in apart]
    padding = DELEGATE_PADDING if any(call.operator is None for call in schedule.calls) else 0
    memories = [_usable(memory, options, padding) for memory in options.memories or _ONE_MEMORY]
    requests = _requests(schedule, values, intervals, options)
    planner = find_planner(options.memory_planning_algo)
    found = place_in_memories(requests, memories, planner, method=schedule.name)
    places = {
        value: (number + 1, offset) for value, (number, offset) in zip(values, found, strict=True)
    } | apart
    sizes: dict[int, int] = {}
    for request, (number, offset) in zip(requests, found, strict=True):
        nbytes = aligned(request.interval.nbytes, memories[number].alignment or 1)
        sizes[number + 1] = max(sizes.get(number + 1, 0), offset + nbytes)
    sizes = {arena: size + padding for arena, size in sizes.items()}
    if apart and shared is not None:
        sizes[options.state_arena] = shared.size
    sizes = {arena: sizes.get(arena, 0) for arena in range(1, max(sizes, default=0) + 1)}
    nodes = tuple(call.node for call in schedule.calls)

    def describe() -> MemoryPlan:
        return describe_plan(
            schedule, intervals, places, sizes, memories, options, uses_of(schedule), padding
        )

    return PlannedMemory(places, sizes, intervals, nodes, describe)


def _usable(memory: Memory, options: MemoryPlanningPass, padding: int) -> Memory:
    """A memory as the planner may fill it."""
    capacity = memory.capacity
    if capacity is not None and padding:
        capacity = max(capacity - padding, 0)
    return replace(memory, capacity=capacity, alignment=memory.alignment or options.alignment)


def _requests(
    schedule: Schedule,
    values: Sequence[Value],
    intervals: Mapping[Value, Interval],
    options: MemoryPlanningPass,
) -> list[Request]:
    if len(options.memories) < 2:
        return [Request(value.target or value.name, intervals[value], 1) for value in values]
    uses = uses_of(schedule)
    numbers = {memory.name: number for number, memory in enumerate(options.memories)}
    found: set[str] = set()
    requests = []
    for value in values:
        pin = None
        for name in (value.role.value, value.name, value.target):
            if name is not None and name in options.pinned:
                found.add(name)
                pin = numbers[options.pinned[name]]
        requests.append(Request(value.target or value.name, intervals[value], uses[value], pin))
    unknown = sorted(set(options.pinned) - found - {Role.INPUT.value, Role.STATE.value})
    if unknown:
        raise InvalidArgumentError(
            f"MemoryPlanningPass: method '{schedule.name}' has no tensor {', '.join(unknown)} to"
            " pin; memory_plan().to_dataframe() lists the names"
        )
    return requests


def refuse_mistakable_state(memory: Mapping[str, PlannedMemory], sharing: Sequence[str]) -> None:
    """Assert that no arena looks like shared state where methods share none.

    A file does not say whether methods share state: a runtime tells by arenas, after the first, in
    which nothing but state lies in several methods.

    Raises:
        MemoryPlanError: one does.
    """
    seen: dict[int, str] = {}
    for name, planned in memory.items():
        if name in sharing:
            continue
        for arena in range(2, len(planned.arena_sizes) + 1):
            roles = {value.role for value, place in planned.places.items() if place[0] == arena}
            if roles != {Role.STATE}:
                continue
            if arena in seen:
                raise MemoryPlanError(
                    f"memory {arena} would hold nothing but state in the methods '{seen[arena]}'"
                    f" and '{name}', which runtimes take for shared state; set"
                    " share_mutable_buffers=True, or pin the state to the first memory"
                )
            seen[arena] = name
