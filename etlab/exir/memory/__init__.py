"""Memory planning: lifetimes, planners (one a file), check, plan."""

from etlab.exir.memory.interval import Interval, Planner
from etlab.exir.memory.memories import Memory
from etlab.exir.memory.plan import MemoryPlan, PlannedTensor
from etlab.exir.memory.planners import list_planners
from etlab.exir.memory.planning import MemoryPlanningPass

__all__ = [
    "Interval",
    "Memory",
    "MemoryPlan",
    "MemoryPlanningPass",
    "PlannedTensor",
    "Planner",
    "list_planners",
]
