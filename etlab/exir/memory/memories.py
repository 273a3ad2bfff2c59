"""Several memories: a small fast one, a larger slower one, and what lies where."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from etlab.errors import EtlabError, InvalidArgumentError, MemoryPlanError
from etlab.exir.memory.check import check_offsets
from etlab.exir.memory.interval import Interval, Planner
from etlab.exir.memory.placing import Placing, find_gap

_MOST_HOLDERS = 5  # named in an error


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of the device.

    Attributes:
        name: "sram".
        capacity: in bytes; None for as much as is needed.
        alignment: of every tensor in it, in bytes, a power of two; None for that of the plan.
    """

    name: str
    capacity: int | None = None
    alignment: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no memory."""
        if self.capacity is not None and not (
            isinstance(self.capacity, int) and self.capacity >= 0
        ):
            raise InvalidArgumentError(
                f"memory '{self.name}': the capacity must be 0 or more bytes, not {self.capacity!r}"
            )
        if self.alignment is not None and not is_power_of_two(self.alignment):
            raise InvalidArgumentError(
                f"memory '{self.name}': the alignment must be a power of two, not {self.alignment}"
            )


@dataclass(frozen=True, slots=True)
class Request:
    """A tensor that wants memory.

    Attributes:
        name: for messages.
        interval: its bytes, not aligned, and its life.
        uses: instructions that read or write it.
        pin: the place of the memory it must lie in; None for any.
    """

    name: str
    interval: Interval
    uses: int
    pin: int | None = None

    @property
    def traffic(self) -> int:
        """Bytes that are read and written in one run."""
        return self.interval.nbytes * self.uses


def is_power_of_two(number: int) -> bool:
    """Whether a number is 1, 2, 4, ….

    >>> [number for number in range(-1, 9) if is_power_of_two(number)]
    [1, 2, 4, 8]
    """
    return isinstance(number, int) and number > 0 and number & (number - 1) == 0


def aligned(nbytes: int, alignment: int) -> int:
    """The next multiple.

    >>> aligned(17, 16), aligned(32, 16), aligned(0, 16)
    (32, 32, 0)
    """
    return -(-nbytes // alignment) * alignment


def place_in_memories(
    requests: Sequence[Request], memories: Sequence[Memory], planner: Planner, *, method: str
) -> list[tuple[int, int]]:
    """The memory (its place in `memories`) and offset of every request.

    Memories stand in the order in which they are preferred. In a limited one lies what saves the
    others most traffic; what does not fit goes to the next. The last one is the planner's alone.

    Raises:
        MemoryPlanError: a memory is too small for what must lie in it, or the planner's answer is
            invalid; the message names who holds the bytes.
    """
    places: dict[int, tuple[int, int]] = {}
    for number, memory in enumerate(memories):
        alignment = memory.alignment or 1
        intervals = [
            replace(request.interval, nbytes=aligned(request.interval.nbytes, alignment))
            for request in requests
        ]
        is_last = number == len(memories) - 1
        wanted = [
            index
            for index, request in enumerate(requests)
            if index not in places and request.pin in (None, number)
        ]
        chosen: dict[int, int] = dict.fromkeys(wanted, -1)
        if memory.capacity is not None and not is_last:
            chosen = _choose(requests, intervals, wanted, memory.capacity, number)
        names = [requests[index].name for index in chosen]
        own = [intervals[index] for index in chosen]
        offsets = _ask(planner, own)
        check_offsets(own, offsets, names=names, alignment=alignment)
        if memory.capacity is not None:
            placing = Placing(own)
            if placing.size(offsets) > memory.capacity and not is_last:
                offsets = list(chosen.values())
            if placing.size(offsets) > memory.capacity:
                size = placing.size(offsets)
                raise MemoryPlanError(_what_is_missing(memory, size, placing, names, method))
        places.update(zip(chosen, ((number, offset) for offset in offsets), strict=True))
    return [places[index] for index in range(len(requests))]


def _ask(planner: Planner, intervals: Sequence[Interval]) -> list[int]:
    """The offsets that a planner, maybe the user's own, gives.

    Raises:
        MemoryPlanError: it fails, or gives no list of whole numbers.
    """
    who = f"planner '{getattr(planner, '__name__', type(planner).__name__)}'"
    try:
        offsets: Any = planner(intervals)
    except EtlabError:
        raise
    except Exception as error:
        raise MemoryPlanError(
            f"{who} failed on {len(intervals)} tensors: {type(error).__name__}: {error}"
        ) from error
    try:
        return [operator.index(offset) for offset in offsets]
    except TypeError as error:
        raise MemoryPlanError(
            f"{who}: expected a list of offsets, one whole number a tensor, got {offsets!r:.60}"
        ) from error


def _choose(
    requests: Sequence[Request],
    intervals: Sequence[Interval],
    wanted: Sequence[int],
    capacity: int,
    number: int,
) -> dict[int, int]:
    """Those of `wanted` that lie in a limited memory, and offsets with which they fit.

    What is pinned lies there, and what saves most traffic. Several orders are tried; each takes
    what still finds a gap below the capacity.
    """
    best: tuple[int, dict[int, int]] = (-1, {})
    pinned = [index for index in wanted if requests[index].pin == number]
    free = [index for index in wanted if requests[index].pin is None]
    placing = Placing(intervals)
    for order in _orders([requests[index] for index in free]):
        offsets: dict[int, int] = {}
        for index in [*pinned, *(free[place] for place in order)]:
            nbytes = intervals[index].nbytes
            taken = sorted(
                (offsets[other], intervals[other].nbytes)
                for other in placing.neighbours(index)
                if other in offsets
            )
            offset = find_gap(taken, nbytes)
            if offset + nbytes <= capacity or requests[index].pin == number:
                offsets[index] = offset
        traffic = sum(requests[index].traffic for index in offsets)
        if traffic > best[0]:
            best = (traffic, offsets)
    return best[1]


def _orders(requests: Sequence[Request]) -> list[list[int]]:
    """In which orders a limited memory is filled."""

    def steps(request: Request) -> int:
        return request.interval.last - request.interval.first + 1

    places = range(len(requests))
    return [
        sorted(places, key=lambda place: -requests[place].uses / steps(requests[place])),
        sorted(places, key=lambda place: -requests[place].traffic / steps(requests[place])),
        sorted(places, key=lambda place: -requests[place].interval.nbytes),
        sorted(places, key=lambda place: requests[place].interval.nbytes),
        sorted(places, key=lambda place: requests[place].interval.first),
    ]


def _what_is_missing(
    memory: Memory, size: int, placing: Placing, names: Sequence[str], method: str
) -> str:
    intervals = placing.intervals
    breadth = placing.breadth()
    fullest = max(
        (index for index, one in enumerate(intervals) if one.nbytes),
        key=lambda index: (breadth(intervals[index]), intervals[index].nbytes),
    )
    step = _fullest_step(intervals, intervals[fullest])
    alive = [index for index, one in enumerate(intervals) if one.first <= step <= one.last]
    alive.sort(key=lambda index: (-intervals[index].nbytes, names[index]))
    held = [f"'{names[index]}' {intervals[index].nbytes:,}" for index in alive[:_MOST_HOLDERS]]
    if len(alive) > _MOST_HOLDERS:
        rest = sum(intervals[index].nbytes for index in alive[_MOST_HOLDERS:])
        held.append(f"{len(alive) - _MOST_HOLDERS} others {rest:,}")
    capacity = memory.capacity or 0
    return (
        f"memory '{memory.name}' lacks {size - capacity:,} bytes: method '{method}' needs {size:,}"
        f" there and it has {capacity:,}. At step {step}, where {placing.lower_bound:,} bytes are"
        f" needed at once, they are held by {', '.join(held)}. Give the memory more bytes, let"
        " some of these lie in another memory, or make the tensors smaller"
    )


def _fullest_step(intervals: Sequence[Interval], within: Interval) -> int:
    """The first step of an interval's life at which most bytes are needed."""
    starts = {one.first for one in intervals if within.first <= one.first <= within.last}

    def level(step: int) -> int:
        return sum(one.nbytes for one in intervals if one.first <= step <= one.last)

    return max(sorted(starts | {within.first}), key=level)
