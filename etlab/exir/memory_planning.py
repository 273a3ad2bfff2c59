"""Memory planners by ExecuTorch's names; `etlab.exir.memory.list_planners()` says which there are.

A planner takes intervals (bytes, first and last step) and gives each an offset.
"""

from collections.abc import Sequence

from etlab.exir.memory.greedy import greedy
from etlab.exir.memory.interval import Interval, Planner
from etlab.exir.memory.naive import naive

__all__ = ["MemoryPlanningAlgorithmSuite", "greedy", "naive"]


class MemoryPlanningAlgorithmSuite:
    """Tries several planners and keeps the plan that needs the least memory, the first of equals.

    Args:
        algo_list: the planners; `greedy` alone by default.
    """

    def __init__(self, algo_list: Sequence[Planner] | None = None) -> None:
        self.algo_list = list(algo_list or [greedy])

    def __call__(self, intervals: Sequence[Interval]) -> list[int]:
        """The best offsets."""
        plans = [planner(intervals) for planner in self.algo_list]

        def size(offsets: list[int]) -> int:
            ends = (o + i.nbytes for o, i in zip(offsets, intervals, strict=True))
            return max(ends, default=0)

        return min(plans, key=size)
