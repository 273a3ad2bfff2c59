"""Placing intervals one after another, each into a gap between those that are placed already.

The offset calculation of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
Inference" (arXiv 2001.03288), for any order.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any

from etlab.exir.memory.interval import Interval

_MOST_PAIRS = 4_000_000  # neighbours that are kept; beyond, they are found anew each time


class Placing:
    """Intervals that can be placed in any order.

    Attributes:
        intervals: what is placed.
        lower_bound: the most bytes needed at one step; no offsets end lower.
        work: the pairs of intervals that one `place` compares, about.
    """

    def __init__(self, intervals: Sequence[Interval]) -> None:
        """Find out which intervals meet in time."""
        self.intervals = intervals
        self._real = [index for index, interval in enumerate(intervals) if interval.nbytes]
        begins = [(intervals[index].first, 1, index) for index in self._real]
        ends = [(intervals[index].last + 1, 0, index) for index in self._real]
        self._events = sorted(begins + ends)
        changes = (
            intervals[index].nbytes if begin else -intervals[index].nbytes
            for _, begin, index in self._events
        )
        self.lower_bound = max(accumulate(changes), default=0)
        counts = accumulate(1 if begin else -1 for _, begin, _ in self._events)
        pairs = sum(
            count - 1 for count, (_, begin, _) in zip(counts, self._events, strict=True) if begin
        )
        self.work = 2 * pairs + len(self._real)
        self._neighbours = self._find_neighbours() if pairs <= _MOST_PAIRS else None

    def order(self, key: Callable[[Interval], Any]) -> list[int]:
        """The intervals with bytes, by a key; ties by their place in the sequence."""
        return sorted(self._real, key=lambda index: key(self.intervals[index]))

    def breadth(self) -> Callable[[Interval], int]:
        """A function that gives the most bytes needed at a step of an interval's life."""
        steps: list[int] = []
        levels: list[int] = []
        level = 0
        for step, begin, index in self._events:
            level += self.intervals[index].nbytes if begin else -self.intervals[index].nbytes
            if steps and steps[-1] == step:
                levels[-1] = level
            else:
                steps.append(step)
                levels.append(level)
        return _RangeMaximum(steps, levels).of

    def place(self, order: Iterable[int], *, smallest_gap: bool = True) -> list[int]:
        """Offsets of all intervals, placed in `order`.

        Args:
            order: every interval with bytes.
            smallest_gap: take the smallest gap that is large enough, not the lowest.
        """
        intervals = self.intervals
        offsets = [-1] * len(intervals)
        for index in order:
            nbytes = intervals[index].nbytes
            taken = sorted(
                (offsets[other], intervals[other].nbytes)
                for other in self.neighbours(index)
                if offsets[other] >= 0
            )
            offsets[index] = find_gap(taken, nbytes, smallest=smallest_gap)
        return [max(offset, 0) for offset in offsets]

    def size(self, offsets: Sequence[int]) -> int:
        """Where the last interval ends."""
        intervals = self.intervals
        return max((offsets[index] + intervals[index].nbytes for index in self._real), default=0)

    def neighbours(self, index: int) -> Iterable[int]:
        """The intervals that are needed at a step when interval `index` is, without itself."""
        if self._neighbours is not None:
            return self._neighbours[index]
        wanted = self.intervals[index]
        return [
            other
            for other in self._real
            if other != index and wanted.overlaps(self.intervals[other])
        ]

    def _find_neighbours(self) -> list[list[int]]:
        result: list[list[int]] = [[] for _ in self.intervals]
        alive: dict[int, None] = {}
        for _, begin, index in self._events:
            if not begin:
                del alive[index]
                continue
            for other in alive:
                result[other].append(index)
            result[index].extend(alive)
            alive[index] = None
        return result


def find_gap(taken: Iterable[tuple[int, int]], nbytes: int, *, smallest: bool = True) -> int:
    """The offset of a gap of `nbytes` between taken places (offset, bytes), sorted by offset.

    Behind the last one there is always room. Taken places may overlap each other.

    >>> find_gap([(0, 16), (64, 16), (96, 16)], 16)
    80
    >>> find_gap([(0, 16), (64, 16), (96, 16)], 16, smallest=False)
    16
    """
    end = 0
    found: tuple[int, int] | None = None  # (bytes of the gap, offset)
    for offset, length in taken:
        gap = offset - end
        if gap >= nbytes and (found is None or gap < found[0]):
            found = (gap, end)
            if not smallest:
                break
        end = max(end, offset + length)
    return end if found is None else found[1]


class _RangeMaximum:
    """The largest level between two steps, by a table of doubling ranges."""

    def __init__(self, steps: list[int], levels: list[int]) -> None:
        self._steps = steps
        self._tables = [levels]
        width = 1
        while 2 * width <= len(levels):
            before = self._tables[-1]
            pairs = zip(before, before[width:], strict=False)
            self._tables.append([max(pair) for pair in pairs])
            width *= 2

    def of(self, interval: Interval) -> int:
        """The most bytes at a step of the interval's life; it is one of those counted."""
        low = bisect_right(self._steps, interval.first) - 1
        high = bisect_right(self._steps, interval.last)
        level = (high - low).bit_length() - 1
        table = self._tables[level]
        return max(table[low], table[high - (1 << level)])
