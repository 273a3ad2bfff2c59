"""Checks that a plan is one: nothing overlaps in time and space, everything fits its arena."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence

from etlab.errors import MemoryPlanError
from etlab.exir.memory.interval import Interval

Place = tuple[str, Interval, int, int]  # name, bytes and life, arena, offset


def check_places(places: Sequence[Place], arena_sizes: Mapping[int, int]) -> None:
    """Assert that no two places overlap in time and memory, and that all lie within their arenas.

    Raises:
        MemoryPlanError: some do; the message names them.
    """
    arenas: dict[int, list[Place]] = {}
    for place in places:
        name, interval, arena, offset = place
        end, size = offset + interval.nbytes, arena_sizes.get(arena, 0)
        if offset < 0 or end > size:
            raise MemoryPlanError(
                f"'{name}' takes bytes {offset} to {end} of arena {arena}, which has {size}"
            )
        arenas.setdefault(arena, []).append(place)
    for inside in arenas.values():
        check_offsets(
            [interval for _, interval, _, _ in inside],
            [offset for _, _, _, offset in inside],
            names=[name for name, _, _, _ in inside],
        )


def check_offsets(
    intervals: Sequence[Interval],
    offsets: Sequence[int],
    *,
    names: Sequence[str] | None = None,
    alignment: int = 1,
) -> None:
    """Assert that a planner's answer is valid, in n log n.

    Raises:
        MemoryPlanError: an offset is missing, negative or not aligned, or two intervals that are
            needed at the same time overlap in memory; the message names both.
    """
    if len(offsets) != len(intervals):
        raise MemoryPlanError(
            f"the planner gave {len(offsets)} offsets for {len(intervals)} tensors"
        )

    def name(index: int) -> str:
        return f"'{names[index]}'" if names else f"tensor {index}"

    for index, offset in enumerate(offsets):
        if offset < 0 or offset % alignment:
            raise MemoryPlanError(
                f"{name(index)} was put at offset {offset}, which is not a multiple of {alignment};"
                " the planner must keep sizes as they are given"
            )
    real = [index for index, interval in enumerate(intervals) if interval.nbytes]
    events = sorted(
        [(intervals[index].first, 1, index) for index in real]
        + [(intervals[index].last + 1, 0, index) for index in real]
    )
    live: list[tuple[int, int]] = []  # (offset, index) of what is alive, by offset
    for _, begins, index in events:
        entry = (offsets[index], index)
        if not begins:
            del live[bisect_left(live, entry)]
            continue
        place = bisect_right(live, entry)
        for neighbour in live[max(place - 1, 0) : place + 1]:
            low, high = sorted([entry, neighbour])
            if low[0] + intervals[low[1]].nbytes > high[0]:
                raise MemoryPlanError(
                    f"{name(low[1])} ({low[0]} to {low[0] + intervals[low[1]].nbytes}) and"
                    f" {name(high[1])} (from {high[0]}) are needed at the same time and overlap in"
                    " memory; the planner is wrong"
                )
        insort(live, entry)
