import pytest

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.sweeping.bounds import read_bounds
from etlab.sweeping.objectives import find_objective

OBJECTIVES = [find_objective(name) for name in ("sqnr_db", "size", "latency")]


@pytest.mark.parametrize(
    ("text", "kept", "missed"),
    [
        ("size<4MB", {"size": 3_999_999}, {"size": 4_000_000}),
        ("size <= 4 MB", {"size": 4_000_000}, {"size": 4_000_001}),
        ("size<=1KiB", {"size": 1024}, {"size": 1025}),
        ("latency<0.5s", {"latency": 499.0}, {"latency": 500.0}),
        ("sqnr_db>=-1.5e1", {"sqnr_db": -15.0}, {"sqnr_db": -15.1}),
        ("sqnr_db>30 and size<9", {"sqnr_db": 31, "size": 8}, {"sqnr_db": 31, "size": 9}),
        ("sqnr_db>30, size<9", {"sqnr_db": 31, "size": 8}, {"sqnr_db": 30, "size": 8}),
        ("size<9", {"size": 8}, {"size": None}),
    ],
)
def test_a_bound_holds_up_to_its_value(text, kept, missed):
    bounds = read_bounds(text, OBJECTIVES)
    assert all(bound.holds(kept) for bound in bounds)
    assert not all(bound.holds(missed) for bound in bounds)


@pytest.mark.parametrize("text", ["size", "size<", "size==4", "<4MB", "size<4MB and", "size<1.2.3"])
def test_what_is_no_bound_is_refused_with_an_example(text):
    with pytest.raises(InvalidArgumentError, match="size<4MB"):
        read_bounds(text, OBJECTIVES)


def test_a_unit_of_another_quantity_is_refused():
    with pytest.raises(InvalidArgumentError, match="latency takes us, µs, ms, s, got 'MB'"):
        read_bounds("latency<4MB", OBJECTIVES)
    with pytest.raises(InvalidArgumentError, match="no unit"):
        read_bounds("sqnr_db>4ms", OBJECTIVES)


def test_what_was_not_measured_is_named_with_what_was():
    with pytest.raises(NotFoundError, match=r"'memory', only sqnr_db, size, latency"):
        read_bounds("memory<4MB", OBJECTIVES)
