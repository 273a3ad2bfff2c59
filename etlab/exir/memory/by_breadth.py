"""Tensors of the fullest steps first, into the smallest gap that is large enough.

"Greedy by breadth" of Pisarchyk and Lee (arXiv 2001.03288): what is alive at the peak is placed
while nothing is in the way.
"""

from collections.abc import Sequence

from etlab.exir.memory.interval import Interval
from etlab.exir.memory.placing import Placing


def by_breadth(intervals: Sequence[Interval]) -> list[int]:
    """Offsets by the most bytes that are needed beside a tensor, then by size.

    >>> by_breadth([Interval(16, 0, 1), Interval(32, 1, 2), Interval(16, 2, 3)])
    [32, 0, 32]
    """
    placing = Placing(intervals)
    breadth = placing.breadth()
    return placing.place(placing.order(lambda one: (-breadth(one), -one.nbytes)))
