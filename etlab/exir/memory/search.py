"""The searching planner: several orders, then changes of the best one, until the bound is reached.

The same intervals always give the same offsets, unless a time limit ends the search.
"""

import random
import time
from collections.abc import Iterator, Sequence
from math import inf

from etlab.exir.memory.best_fit import longest_first
from etlab.exir.memory.by_size import largest_first
from etlab.exir.memory.greedy import greedy
from etlab.exir.memory.interval import Interval
from etlab.exir.memory.placing import Placing

_WORK = 400_000  # some 0.05 s
_LARGEST = 20_000_000  # pairs of intervals; beyond, one order alone takes seconds


def search(
    intervals: Sequence[Interval], *, work: int = _WORK, seconds: float | None = None
) -> list[int]:
    """The lowest offsets that the search comes upon; never higher than those of `greedy`.

    Args:
        intervals: what to place.
        work: when to give up: pairs of intervals compared, eight million in about a second.
        seconds: when to give up, as a time; what is found then depends on the machine.

    >>> search([Interval(16, 0, 1), Interval(32, 1, 2), Interval(16, 2, 3)])
    [32, 0, 32]
    """
    deadline = inf if seconds is None else time.monotonic() + seconds
    placing = Placing(intervals)
    if placing.work > _LARGEST:
        return greedy(intervals)
    best_size: float = inf
    best: tuple[list[int], bool, list[int]] = ([], False, [])  # order, gap rule, offsets
    for order in _orders(placing):
        for smallest_gap in (True, False):
            offsets = placing.place(order, smallest_gap=smallest_gap)
            size = placing.size(offsets)
            if size < best_size:
                best_size, best = size, (order, smallest_gap, offsets)
            work -= placing.work
            if best_size == placing.lower_bound:
                return best[2]
        if work < 0 or time.monotonic() > deadline:
            break
    order, smallest_gap, offsets = best
    offsets = _improve(placing, order, offsets, smallest_gap, work, deadline)
    official = greedy(intervals)
    return official if placing.size(official) < placing.size(offsets) else offsets


def _orders(placing: Placing) -> Iterator[list[int]]:
    breadth = placing.breadth()
    yield placing.order(largest_first)
    yield placing.order(lambda one: (-breadth(one), -one.nbytes))
    yield placing.order(longest_first)
    yield placing.order(lambda one: (one.first - one.last - 1) * one.nbytes)
    yield placing.order(lambda one: (-breadth(one), one.first - one.last, -one.nbytes))
    yield placing.order(lambda one: (one.first, -one.nbytes))


def _improve(
    placing: Placing,
    order: list[int],
    offsets: list[int],
    smallest_gap: bool,
    work: int,
    deadline: float,
) -> list[int]:
    """Move tensors that reach the top to the front of one that is in their way, again and again.

    A change that does not make it worse is kept; after many without a gain the best order is taken
    up again.
    """
    chance = random.Random(0)
    intervals = placing.intervals
    best = (placing.size(offsets), order, offsets)
    current = best
    stale = 0
    while work > 0 and best[0] > placing.lower_bound and time.monotonic() < deadline:
        work -= placing.work
        size, order, offsets = current
        top = [index for index in order if offsets[index] + intervals[index].nbytes == size]
        order = _brought_forward(placing, order, offsets, chance.choice(top), chance)
        offsets = placing.place(order, smallest_gap=smallest_gap)
        candidate = (placing.size(offsets), order, offsets)
        stale += 1
        if candidate[0] <= current[0]:
            current = candidate
        if candidate[0] < best[0]:
            best, stale = candidate, 0
        if stale > 50:
            current, stale = best, 0
    return best[2]


def _brought_forward(
    placing: Placing, order: list[int], offsets: list[int], index: int, chance: random.Random
) -> list[int]:
    """The order with `index`, or a tensor below it, placed before another one that it meets."""
    blockers = [other for other in placing.neighbours(index) if offsets[other] < offsets[index]]
    if blockers and chance.random() < 0.3:
        index = chance.choice(blockers)
        blockers = [other for other in placing.neighbours(index) if other in set(order)]
    result = [other for other in order if other != index]
    if not blockers:
        result.insert(0, index)
        return result
    result.insert(result.index(chance.choice(blockers)), index)
    return result
