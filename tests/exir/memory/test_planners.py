import random

import pytest

from etlab.errors import MemoryPlanError, NotFoundError
from etlab.exir.memory import Interval, list_planners
from etlab.exir.memory.check import check_offsets
from etlab.exir.memory.greedy import greedy
from etlab.exir.memory.naive import naive
from etlab.exir.memory.planners import find_planner


def _random_intervals(count: int, seed: int) -> list[Interval]:
    generator = random.Random(seed)
    result = []
    for _ in range(count):
        first = generator.randrange(count)
        last = min(first + generator.choice([0, 1, 1, 2, 3, 10, count]), count - 1)
        result.append(Interval(16 * generator.choice([0, 1, 1, 3, 7, 50]), first, last))
    return result


def _plain_greedy(intervals: list[Interval]) -> list[int]:
    """The algorithm as it is described, with full scans."""
    objects: list[tuple[int, list[tuple[int, int]]]] = []  # (size, [(interval, offset)])
    homes = {}
    order = sorted(range(len(intervals)), key=lambda index: intervals[index].nbytes)
    for index in reversed(order):
        wanted = intervals[index]
        home = None
        for allow_side_by_side in (False, True):
            for place, (size, placed) in enumerate(objects):
                ends = [o + intervals[i].nbytes for i, o in placed if intervals[i].overlaps(wanted)]
                end = max(ends, default=0)
                if end == 0 or (allow_side_by_side and end + wanted.nbytes <= size):
                    home = (place, end)
                    break
            if home:
                break
        if home is None:
            objects.append((wanted.nbytes, []))
            home = (len(objects) - 1, 0)
        objects[home[0]][1].append((index, home[1]))
        homes[index] = home
    starts = [sum(size for size, _ in objects[:place]) for place in range(len(objects))]
    return [starts[homes[index][0]] + homes[index][1] for index in range(len(intervals))]


@pytest.mark.parametrize("seed", range(5))
def test_greedy_is_the_described_algorithm(seed: int) -> None:
    intervals = _random_intervals(60, seed)
    assert greedy(intervals) == _plain_greedy(intervals)


@pytest.mark.parametrize("name", list_planners())
@pytest.mark.parametrize("seed", range(3))
def test_planners_give_valid_plans(name: str, seed: int) -> None:
    intervals = _random_intervals(80, seed)
    check_offsets(intervals, find_planner(name)(intervals), alignment=16)


@pytest.mark.parametrize("name", list_planners())
def test_planners_take_no_intervals(name: str) -> None:
    assert find_planner(name)([]) == []


def test_greedy_reuses_memory_of_the_dead() -> None:
    chain = [Interval(64, step, step + 1) for step in range(10)]
    assert max(greedy(chain)) + 64 == 128
    assert max(naive(chain)) + 64 == 640


def test_without_side_by_side_each_object_has_one_tenant_at_a_time() -> None:
    intervals = [Interval(64, 0, 0), Interval(32, 1, 1), Interval(16, 1, 1)]
    assert greedy(intervals) == [0, 0, 32]
    assert greedy(intervals, allow_overlapping_allocations=False) == [0, 0, 64]


def test_greedy_stays_quick_with_thousands_of_tensors() -> None:
    import time

    def seconds(count: int) -> float:
        chain = [Interval(16 * (1 + step % 7), step, step + 3) for step in range(count)]
        begin = time.process_time()
        greedy(chain)
        return time.process_time() - begin

    assert seconds(8000) < 100 * max(min(seconds(500) for _ in range(3)), 1e-3)


def test_a_plan_that_overlaps_is_refused_by_name() -> None:
    intervals = [Interval(32, 0, 2), Interval(16, 1, 3)]
    with pytest.raises(MemoryPlanError, match=r"'a'.*'b'"):
        check_offsets(intervals, [0, 16], names=["a", "b"])


@pytest.mark.parametrize("seed", range(5))
def test_the_check_finds_what_a_full_comparison_finds(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(200):
        intervals = _random_intervals(5, generator.randrange(10**6))
        offsets = [16 * generator.randrange(40) for _ in intervals]
        overlaps = any(
            a.overlaps(b) and a.nbytes and b.nbytes and x < y + b.nbytes and y < x + a.nbytes
            for i, (a, x) in enumerate(zip(intervals, offsets, strict=True))
            for b, y in list(zip(intervals, offsets, strict=True))[i + 1 :]
        )
        if overlaps:
            with pytest.raises(MemoryPlanError):
                check_offsets(intervals, offsets)
        else:
            check_offsets(intervals, offsets)


@pytest.mark.parametrize("offsets", [[0], [0, -16], [0, 8]])
def test_a_broken_answer_is_refused(offsets: list[int]) -> None:
    with pytest.raises(MemoryPlanError):
        check_offsets([Interval(16, 0, 0), Interval(16, 1, 1)], offsets, alignment=16)


def test_an_unknown_planner_is_refused_with_the_known_ones() -> None:
    with pytest.raises(NotFoundError, match="greedy"):
        find_planner("best")
