"""Memory planning: lifetimes, planners (one a file), check, plan."""

from etlab.exir.memory.interval import Interval, Planner
from etlab.exir.memory.plan import MemoryPlan, PlannedTensor
from etlab.exir.memory.planning import MemoryPlanningPass, list_planners

__all__ = [
    "Interval",
    "MemoryPlan",
    "MemoryPlanningPass",
    "PlannedTensor",
    "Planner",
    "list_planners",
]
