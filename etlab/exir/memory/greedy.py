"""The greedy planner: ExecuTorch's default algorithm, with the placed intervals kept by time.

The largest tensors come first. Each goes into the first shared object that is free all the time it
is needed; else behind what is in the way, if an object is long enough for that; else into a new
object. The objects lie one behind the other.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import accumulate

from etlab.exir.memory.interval import Interval


class _Object:
    """A shared piece of memory, as long as its first tenant."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.placed: list[tuple[int, int, int]] = []  # (first, last, end of its bytes), by first
        self.longest = 0  # the longest lifetime among the placed

    def end_at(self, interval: Interval) -> int:
        """Where the bytes end that tenants hold while `interval` lives; 0 when it is free."""
        end = 0
        index = bisect_left(self.placed, (interval.last + 1,))
        earliest = interval.first - self.longest
        while index:
            index -= 1
            first, last, limit = self.placed[index]
            if first < earliest:
                break
            if last >= interval.first and limit > end:
                end = limit
        return end

    def place(self, interval: Interval, offset: int) -> None:
        insort(self.placed, (interval.first, interval.last, offset + interval.nbytes))
        self.longest = max(self.longest, interval.last - interval.first)


def greedy(
    intervals: Sequence[Interval], *, allow_overlapping_allocations: bool = True
) -> list[int]:
    """Offsets by size, largest first.

    Args:
        intervals: what to place.
        allow_overlapping_allocations: let tensors that live at the same time share an object side
            by side.

    >>> greedy([Interval(16, 0, 1), Interval(32, 2, 3), Interval(16, 2, 3)])
    [0, 0, 32]
    """
    objects: list[_Object] = []
    homes: dict[int, tuple[int, int]] = {}
    ascending = sorted(range(len(intervals)), key=lambda index: intervals[index].nbytes)
    for index in reversed(ascending):
        interval = intervals[index]
        homes[index] = _find_home(
            objects, interval, allow_side_by_side=allow_overlapping_allocations
        )
        objects[homes[index][0]].place(interval, homes[index][1])
    starts = [0, *accumulate(item.nbytes for item in objects)]
    return [starts[homes[index][0]] + homes[index][1] for index in range(len(intervals))]


def _find_home(
    objects: list[_Object], interval: Interval, *, allow_side_by_side: bool
) -> tuple[int, int]:
    """Object and offset inside it; a new object is appended when none fits."""
    beside: tuple[int, int] | None = None
    for place, item in enumerate(objects):
        end = item.end_at(interval)
        if end == 0:
            return place, 0
        if beside is None and allow_side_by_side and end + interval.nbytes <= item.nbytes:
            beside = (place, end)
    if beside is not None:
        return beside
    objects.append(_Object(interval.nbytes))
    return len(objects) - 1, 0
