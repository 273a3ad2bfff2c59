import math

import pytest
import torch

from etlab.errors import NotFoundError
from etlab.numerics import all_metrics, metric

NAN, INF = math.nan, math.inf


def value(name, actual, reference):
    return metric(name).compute([torch.tensor(actual)], [torch.tensor(reference)])


def test_every_metric_has_its_file_and_name():
    assert list(all_metrics()) == ["sqnr_db", "max_abs", "cosine", "top1"]


def test_unknown_metric_lists_the_known_ones():
    with pytest.raises(NotFoundError, match="sqnr_db"):
        metric("psnr")


def test_sqnr_follows_its_formula():
    torch.manual_seed(0)
    reference = torch.randn(7, 5)
    actual = reference + 0.01 * torch.randn(7, 5)
    noise = (reference - actual).double()
    expected = 10 * math.log10(float(reference.double().square().sum() / noise.square().sum()))
    assert metric("sqnr_db").compute([actual], [reference]) == pytest.approx(expected, abs=1e-9)


def test_sqnr_of_several_samples_is_not_their_mean():
    loud = (torch.tensor([100.0]), torch.tensor([101.0]))
    quiet = (torch.tensor([0.1]), torch.tensor([0.2]))
    joint = metric("sqnr_db").compute([loud[0], quiet[0]], [loud[1], quiet[1]])
    assert joint == pytest.approx(10 * math.log10((101**2 + 0.2**2) / (1 + 0.1**2)), abs=1e-4)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_sqnr_survives_squares_that_leave_float_range(scale):
    small = value("sqnr_db", [1.1, -1.0], [1.0, -1.0])
    scaled = value("sqnr_db", [1.1 * scale, -scale], [scale, -scale])
    assert scaled == pytest.approx(small, abs=1e-4)


@pytest.mark.parametrize(
    ("actual", "reference", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0], (INF, 0.0, 1.0, 1.0)),
        ([0.0, 0.0], [0.0, 0.0], (INF, 0.0, 1.0, 1.0)),
        ([0.0, 1.0], [0.0, 0.0], (-INF, 1.0, 0.0, 1.0)),
        ([0.0, 0.0], [0.0, 1.0], (0.0, 1.0, 0.0, 0.0)),
        ([NAN, 1.0], [NAN, 1.0], (INF, 0.0, 1.0, 1.0)),
        ([INF, 1.0], [INF, 1.0], (INF, 0.0, 1.0, 1.0)),
        ([NAN, 1.0], [0.0, 1.0], (-INF, INF, NAN, 0.0)),
        ([0.0, 1.0], [NAN, 1.0], (-INF, INF, NAN, 0.0)),
        ([-INF, 1.0], [INF, 1.0], (-INF, INF, NAN, 0.0)),
    ],
)
def test_metrics_of_unusual_values(actual, reference, expected):
    names = ("sqnr_db", "max_abs", "cosine", "top1")
    found = tuple(value(name, actual, reference) for name in names)
    assert found == pytest.approx(expected, nan_ok=True)


def test_metrics_of_empty_outputs_say_that_nothing_differs():
    empty = [torch.zeros(0, 3)]
    found = {name: one.compute(empty, empty) for name, one in all_metrics().items()}
    assert found == {"sqnr_db": INF, "max_abs": 0.0, "cosine": 1.0, "top1": None}


def test_top1_accepts_any_of_tied_maxima():
    assert value("top1", [0.0, 3.0, 2.0], [5.0, 5.0, 1.0]) == 1.0
    assert value("top1", [0.0, 1.0, 2.0], [5.0, 5.0, 1.0]) == 0.0


def test_top1_counts_rows_of_every_sample():
    left = [torch.eye(3), torch.eye(3)]
    right = [torch.eye(3), torch.eye(3).flip(0)]
    assert metric("top1").compute(left, right) == pytest.approx(4 / 6)


def test_metrics_take_integers_booleans_and_complex():
    assert value("max_abs", [1, 5], [1, 2]) == 3.0
    assert value("max_abs", [True, False], [True, True]) == 1.0
    assert value("max_abs", [1 + 1j], [1 - 1j]) == 2.0
    assert value("top1", [1 + 1j, 0j], [1 + 1j, 0j]) is None
