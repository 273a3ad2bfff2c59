"""From edge graphs to schedules with their memory, for all methods of a program together.

schedule (out variants)  ->  casts  ->  layouts  ->  views  ->  in-place results  ->  memory plan
"""

from collections.abc import Iterable, Mapping

from etlab.exir.casts import insert_casts
from etlab.exir.config import ExecutorchBackendConfig
from etlab.exir.dim_order import settle_layouts
from etlab.exir.edge import EdgeGraph
from etlab.exir.external import mark_external
from etlab.exir.graph import mutated_targets
from etlab.exir.memory.planning import (
    PlannedMemory,
    mark_unplanned,
    plan_memory,
    refuse_mistakable_state,
)
from etlab.exir.memory.shared_state import place_shared_state
from etlab.exir.official_limits import warn_of_limits
from etlab.exir.reuse import reuse_in_place
from etlab.exir.schedule import Schedule, resolve_labels
from etlab.exir.to_out import schedule_method
from etlab.exir.views import elide_views, protect_writes


def _sharing(names: Iterable[str], config: ExecutorchBackendConfig) -> list[str]:
    """The methods that share their state."""
    return [name for name in sorted(names) if config.planning_of(name).share_mutable_buffers]


def schedule_methods(
    graphs: Mapping[str, EdgeGraph], config: ExecutorchBackendConfig
) -> dict[str, Schedule]:
    """The calls of every method."""
    sharing = _sharing(graphs, config)
    state = frozenset().union(*(mutated_targets(graphs[name]) for name in sharing))
    return {
        name: _schedule(graph, name, config, state if name in sharing else frozenset())
        for name, graph in graphs.items()
    }


def plan_methods(
    schedules: Mapping[str, Schedule], config: ExecutorchBackendConfig
) -> dict[str, PlannedMemory]:
    """The memory of every method.

    Raises:
        MemoryPlanError: a planner's answer is invalid, or a memory is too small.
    """
    sharing = _sharing(schedules, config)
    shared = None
    if sharing:
        alignment = max(config.planning_of(name).alignment for name in sharing)
        shared = place_shared_state([schedules[name] for name in sharing], alignment)
    memory = {
        name: plan_memory(schedule, config.planning_of(name), shared if name in sharing else None)
        for name, schedule in schedules.items()
    }
    refuse_mistakable_state(memory, sharing)
    return memory


def _schedule(
    graph: EdgeGraph, name: str, config: ExecutorchBackendConfig, shared_state: frozenset[str]
) -> Schedule:
    """Calls of out variants, with layouts and shared memory settled."""
    schedule = schedule_method(
        graph, extended_operators=config.extended_operators, shared_state=shared_state
    )
    schedule.name = name
    mark_external(
        schedule,
        graph,
        config.external_constants,
        mutable_weights=config.external_mutable_weights,
    )
    warn_of_limits(schedule)
    insert_casts(schedule)
    settle_layouts(schedule)
    mark_unplanned(schedule, config.planning_of(name))
    if config.remove_view_copy:
        elide_views(schedule)
    protect_writes(schedule)
    resolve_labels(schedule)
    if config.planning_of(name).reuse_in_place:
        reuse_in_place(schedule)
    return schedule
