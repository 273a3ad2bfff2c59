import itertools
import random
from importlib import import_module

import pytest

from etlab.exir.memory import Interval
from etlab.exir.memory.best_fit import best_fit
from etlab.exir.memory.by_breadth import by_breadth
from etlab.exir.memory.by_size import by_size
from etlab.exir.memory.greedy import greedy
from etlab.exir.memory.placing import Placing
from etlab.exir.memory.search import search


def _crowd(count: int, seed: int) -> list[Interval]:
    """Intervals of many sizes, so that no order is right by luck."""
    generator = random.Random(seed)
    firsts = [generator.randrange(count // 3) for _ in range(count)]
    return [
        Interval(
            16 * generator.randrange(1, 100), first, first + generator.randrange(max(count // 6, 3))
        )
        for first in firsts
    ]


def _size(planner, intervals: list[Interval]) -> int:  # type: ignore[no-untyped-def]
    return Placing(intervals).size(planner(intervals))


@pytest.mark.parametrize("seed", range(4))
def test_the_search_is_never_above_the_planners_it_knows(seed: int) -> None:
    intervals = _crowd(60, seed)
    others = [_size(planner, intervals) for planner in (greedy, by_size, by_breadth, best_fit)]
    assert _size(search, intervals) <= min(others)


def test_the_search_finds_what_no_simple_order_finds() -> None:
    intervals = _crowd(60, seed=1)
    others = [_size(planner, intervals) for planner in (greedy, by_size, by_breadth, best_fit)]
    assert _size(search, intervals) < min(others)


@pytest.mark.parametrize("seed", range(6))
def test_no_order_of_a_few_tensors_is_better_than_the_search(seed: int) -> None:
    intervals = _crowd(7, seed)
    placing = Placing(intervals)
    best = min(
        placing.size(placing.place(order, smallest_gap=False))
        for order in itertools.permutations(range(7))
    )
    assert _size(search, intervals) <= best


def test_the_search_gives_the_same_offsets_again() -> None:
    intervals = _crowd(80, seed=3)
    assert search(intervals) == search(intervals)


def test_more_work_never_makes_it_worse() -> None:
    intervals = _crowd(90, seed=5)
    sizes = [
        Placing(intervals).size(search(intervals, work=work)) for work in (0, 200_000, 1_000_000)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


def test_a_time_limit_ends_the_search() -> None:
    intervals = _crowd(60, seed=1)
    short = search(intervals, work=10**12, seconds=0.05)
    assert Placing(intervals).size(short) <= Placing(intervals).size(greedy(intervals))


def test_the_lower_bound_is_the_fullest_step() -> None:
    intervals = [Interval(16, 0, 2), Interval(32, 1, 1), Interval(64, 2, 3), Interval(0, 1, 2)]
    assert Placing(intervals).lower_bound == 80
    assert Placing([]).lower_bound == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_breadth_of_a_tensor_is_the_fullest_step_of_its_life(seed: int) -> None:
    intervals = _crowd(40, seed)
    breadth = Placing(intervals).breadth()
    for one in intervals:
        steps = range(one.first, one.last + 1)
        expected = max(
            sum(other.nbytes for other in intervals if other.first <= step <= other.last)
            for step in steps
        )
        assert breadth(one) == expected


def test_neighbours_are_the_same_kept_or_found_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    intervals = _crowd(50, seed=2)
    kept = Placing(intervals)
    monkeypatch.setattr(import_module("etlab.exir.memory.placing"), "_MOST_PAIRS", 0)
    anew = Placing(intervals)
    for index in range(len(intervals)):
        assert sorted(kept.neighbours(index)) == sorted(anew.neighbours(index))


def test_the_search_gives_a_crowd_too_large_for_it_to_the_greedy_planner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    intervals = _crowd(60, seed=1)
    monkeypatch.setattr(import_module("etlab.exir.memory.search"), "_LARGEST", 10)
    assert search(intervals) == greedy(intervals)
