"""The longest-lived tensor first, into the smallest gap that is large enough.

What lives long lies at the bottom, out of the way of what comes and goes.
"""

from collections.abc import Sequence

from etlab.exir.memory.interval import Interval
from etlab.exir.memory.placing import Placing


def best_fit(intervals: Sequence[Interval]) -> list[int]:
    """Offsets by lifetime; of tensors that live equally long, the largest comes first.

    >>> best_fit([Interval(16, 0, 1), Interval(32, 0, 3), Interval(16, 2, 3)])
    [32, 0, 32]
    """
    placing = Placing(intervals)
    return placing.place(placing.order(longest_first))


def longest_first(interval: Interval) -> tuple[int, int]:
    """The key of the order."""
    return (interval.first - interval.last, -interval.nbytes)
