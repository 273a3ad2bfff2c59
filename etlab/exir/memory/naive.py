"""The naive planner: every tensor gets memory of its own. For finding planning bugs."""

from collections.abc import Sequence
from itertools import accumulate

from etlab.exir.memory.interval import Interval


def naive(intervals: Sequence[Interval]) -> list[int]:
    """Offsets one behind the other.

    >>> naive([Interval(16, 0, 1), Interval(32, 0, 0), Interval(16, 2, 3)])
    [0, 16, 48]
    """
    return [0, *accumulate(interval.nbytes for interval in intervals)][: len(intervals)]
