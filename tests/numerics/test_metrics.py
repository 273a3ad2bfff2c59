import math

import pytest
import torch

from etlab.errors import NotFoundError
from etlab.numerics import all_metrics, metric, standard_metrics

NAN, INF = math.nan, math.inf


def value(name, actual, reference):
    return metric(name).compute([torch.tensor(actual)], [torch.tensor(reference)])


def test_every_metric_has_its_file_and_name():
    assert list(all_metrics()) == [
        *("sqnr_db", "max_abs", "mean_abs", "relative", "bit_equal", "ulp"),
        *("cosine", "top1", "top5", "saturation", "kl"),
    ]


def test_tables_show_few_metrics_unless_asked():
    assert list(standard_metrics()) == ["sqnr_db", "max_abs", "cosine", "top1"]


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
    assert found == {
        **{"sqnr_db": INF, "cosine": 1.0},
        **dict.fromkeys(("max_abs", "mean_abs", "relative", "ulp"), 0.0),
        **dict.fromkeys(("bit_equal", "top1", "top5", "saturation", "kl")),
    }


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


def test_mean_and_relative_difference_follow_their_formulas():
    assert value("mean_abs", [1.0, 4.0], [1.5, 4.0]) == 0.25
    assert value("relative", [3.0, 3.5], [3.0, 4.0]) == pytest.approx(0.1)
    assert value("relative", [1e-30], [2e-30]) == pytest.approx(0.5)
    assert value("relative", [1.0], [0.0]) == INF


def test_bit_equal_counts_the_same_values():
    assert value("bit_equal", [NAN, 0.0, 1.0, 2.0], [NAN, -0.0, 1.0, 2.5]) == 0.75
    assert value("bit_equal", [1, 2, 3, 4], [1, 2, 3, 5]) == 0.75


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_ulp_counts_the_numbers_between(dtype):
    one = torch.tensor([1.0, -1.0], dtype=dtype)
    other = torch.nextafter(torch.nextafter(one, one * 2), one * 2)
    assert metric("ulp").compute([other], [one]) == 2.0
    tiny = torch.tensor([torch.finfo(dtype).smallest_normal], dtype=dtype)
    assert metric("ulp").compute([tiny], [-tiny]) == 2 * metric("ulp").compute([tiny], [0 * tiny])


def test_ulp_of_nan_and_integers():
    assert value("ulp", [NAN, 1.0], [NAN, 1.0]) == 0.0
    assert value("ulp", [NAN, 1.0], [0.0, 1.0]) == INF
    assert value("ulp", [3, -4], [3, 5]) == 9.0


def test_saturation_counts_what_the_range_cut_off():
    reference = torch.linspace(-2.0, 2.0, 101)
    steps = (reference / 0.1).round().clamp(-10, 10) * 0.1
    outside = (reference.abs() > 1.05).sum() / 101
    assert metric("saturation").compute([steps], [reference]) == pytest.approx(float(outside))
    assert metric("saturation").compute([reference * 1.01], [reference]) == 0.0
    assert metric("saturation").compute([torch.randn(1000)], [torch.randn(1000)]) is None


def test_kl_compares_distributions_not_logits():
    logits = torch.randn(3, 7)
    assert metric("kl").compute([logits + 5.0], [logits]) == pytest.approx(0.0, abs=1e-9)
    expected = torch.nn.functional.kl_div(
        (logits * 2).double().log_softmax(-1),
        logits.double().log_softmax(-1),
        log_target=True,
        reduction="batchmean",
    )
    assert metric("kl").compute([logits * 2], [logits]) == pytest.approx(float(expected))


def test_top5_counts_shared_places():
    reference = torch.arange(9.0)
    assert metric("top5").compute([reference], [reference]) == 1.0
    assert metric("top5").compute([reference.roll(2)], [reference]) == pytest.approx(3 / 5)
    assert value("top5", [1.0, 2.0], [1.0, 2.0]) is None


def test_samples_are_combined_so_that_a_bad_one_shows():
    sqnr = metric("sqnr_db")
    assert sqnr.together([INF, INF]) == INF
    assert sqnr.together([INF, 20.0]) == pytest.approx(20 + 10 * math.log10(2))
    assert sqnr.together([INF, -INF]) == -INF
    assert metric("max_abs").together([0.1, None, 0.3]) == 0.3
    assert metric("kl").together([None]) is None
    assert sqnr.worst([40.0, None, 20.0]) == 2
    assert metric("max_abs").worst([0.1, NAN, 0.3]) == 1
