"""The largest tensor first, into the smallest gap that is large enough.

"Greedy by size" of Pisarchyk and Lee (arXiv 2001.03288).
"""

from collections.abc import Sequence

from etlab.exir.memory.interval import Interval
from etlab.exir.memory.placing import Placing


def by_size(intervals: Sequence[Interval]) -> list[int]:
    """Offsets by size; of tensors of one size, the one that lives longest comes first.

    >>> by_size([Interval(16, 0, 1), Interval(32, 1, 2), Interval(16, 2, 3)])
    [32, 0, 32]
    """
    placing = Placing(intervals)
    return placing.place(placing.order(largest_first))


def largest_first(interval: Interval) -> tuple[int, int]:
    """The key of the order."""
    return (-interval.nbytes, interval.first - interval.last)
