"""Which layers cost accuracy, and a mixed configuration that is measured as it was predicted."""

from dataclasses import replace

import pytest
import torch
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError, NotSupportedError
from etlab.quantize import find_quantizer


class Chain(nn.Module):
    """Three layers; the middle one has a large weight for a value that is always zero."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.middle, self.last = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 4)
        with torch.no_grad():
            self.first.bias[0] = -100
            self.middle.weight[0, 0] = 30

    def forward(self, x):
        return self.last(torch.relu(self.middle(torch.relu(self.first(x)))) + x)


@pytest.fixture(scope="module")
def samples():
    grid = torch.linspace(-1, 1, 32).reshape(2, 16)
    return [(torch.sin(grid * (1 + seed)) + 0.3 * seed,) for seed in range(4)]


PER_TENSOR = find_quantizer("int8", per_channel=False)


@pytest.fixture(scope="module")
def report(samples):
    return etlab.sensitivity(Chain().eval(), samples[0], quantizer=PER_TENSOR, calibration=samples)


def test_the_layer_that_costs_most_stands_first(report):
    assert report.worst(1)[0].layer == "middle"
    assert {row.layer: row.elements for row in report.rows}["last"] == 64
    worst, *others = report.rows
    assert worst.alone < min(row.alone for row in others) - 5
    assert worst.spared > report.quantized + 3
    assert report.others > worst.spared
    assert report.to_quantizer_overrides(1) == {"keep_float": ("middle",)}
    with pytest.raises(InvalidArgumentError, match="expected 0 to 3 layers, got 4"):
        report.to_quantizer_overrides(4)


def test_a_report_is_a_table_in_every_form(report):
    assert list(report.to_dataframe().columns) == ["layer", "elements", "alone", "spared"]
    for text in (str(report), report._repr_html_()):
        assert "middle" in text
        assert "SQNR" in text
    assert repr(report) == "SensitivityReport(Chain: 3 layers, sqnr_db)"


def test_switched_layers_compute_what_an_export_with_the_same_layers_does(report, samples):
    overrides = report.to_quantizer_overrides(1)
    run = etlab.export(
        Chain().eval(),
        samples[0],
        quantizer=find_quantizer("int8", per_channel=False, **overrides),
        calibration=samples,
    )
    exact = run.parity(samples, paths=["quantized"], metrics=["sqnr_db"]).row("quantized")
    assert exact.values["sqnr_db"] == pytest.approx(report.rows[0].spared, abs=0.5)


def test_layers_are_judged_on_as_many_samples_as_one_asks_for(samples):
    report = etlab.sensitivity(
        Chain().eval(), samples[0], quantizer=PER_TENSOR, calibration=samples * 20, samples=70
    )
    assert "70 samples" in report.data


@pytest.mark.parametrize("quantizer", ["int8-dynamic", "8da4w:group_size=16", "int4-weights"])
def test_other_quantizers_have_layers_too(quantizer, samples):
    report = etlab.sensitivity(Chain().eval(), samples[0], quantizer=quantizer, calibration=samples)
    assert len(report.rows) == 3
    assert all(row.alone > report.quantized - 3 for row in report.rows)


def test_a_quantizer_of_the_whole_model_is_refused(samples):
    with pytest.raises(NotSupportedError, match="does the same to the whole model"):
        etlab.sensitivity(Chain().eval(), samples[0], quantizer="fp16", calibration=samples)


def test_the_fewest_layers_that_reach_an_accuracy_are_recommended(report, samples):
    found = etlab.recommend(
        Chain().eval(),
        samples[0],
        budget=f"sqnr_db>={report.rows[0].spared - 2:.1f}",
        quantizer=PER_TENSOR,
        calibration=samples,
    )
    assert found.keep_float == ("middle",)
    assert found.is_within
    assert found.measured == pytest.approx(found.predicted, abs=1)
    assert found.run.quantizer == "int8"
    assert "middle" in str(found)
    assert "kept" in found._repr_html_()
    assert len(found.to_dataframe()) == 2


def test_as_many_layers_as_a_size_allows_stay_in_float(samples):
    found = etlab.recommend(
        Chain().eval(),
        samples[0],
        budget="size<=1.5kB",
        quantizer=PER_TENSOR,
        calibration=samples,
    )
    assert found.predicted_bytes <= 1500
    assert len(found.keep_float) == 1
    impossible = etlab.recommend(
        Chain().eval(), samples[0], budget="size<10B", quantizer=PER_TENSOR, calibration=samples
    )
    assert impossible.keep_float == ()
    assert not impossible.is_within


@pytest.mark.parametrize("budget", ["fast", "sqnr_db<=3", "size>=4MB", "sqnr_db>=3MB"])
def test_a_budget_that_cannot_be_read_is_refused(budget, samples):
    with pytest.raises(InvalidArgumentError, match="budget: "):
        etlab.recommend(Chain().eval(), samples[0], budget=budget, calibration=samples)


def test_a_budget_that_is_no_bound_is_refused_in_words():
    with pytest.raises(InvalidArgumentError, match="a bound such as 'sqnr_db>=30'"):
        etlab.recommend(torch.nn.Linear(3, 3).eval(), torch.ones(1, 3), budget=30)


def test_a_run_is_made_again_with_more_layers_in_float(samples):
    run = etlab.export(
        Chain().eval(), samples[0], quantizer=PER_TENSOR, calibration=iter(samples), name="chain"
    )
    mixed = run.again(keep_float=["middle"]).again(keep_float=["last"])
    assert mixed.options["quantizer"].keep_float == ("middle", "last")
    assert mixed.name == "chain"
    assert len(mixed.calibration) == len(samples)
    before, after = (one.parity().row("native").values["sqnr_db"] for one in (run, mixed))
    assert after > before + 3
    assert run.again(quantizer=None).quantized is None
    with pytest.raises(NotSupportedError, match="all is in float already"):
        run.again(quantizer=None).again(keep_float=["middle"])
    with pytest.raises(NotSupportedError, match="does the same to the whole model"):
        run.again(quantizer="fp16").again(keep_float=["middle"])


def test_a_comparison_is_made_again_of_another_run_or_with_another_reference(samples):
    run = etlab.export(Chain().eval(), samples[0], quantizer=PER_TENSOR, calibration=samples)
    report = run.parity(samples[1], paths=["quantized", "native"], metrics=["max_abs"])
    assert report.origin.run is run
    other = report.again(reference="quantized")
    assert (other.reference, other.data, other.metrics) == ("quantized", report.data, ("max_abs",))
    better = report.again(run.again(keep_float=["middle"]))
    assert better.row("native").values["max_abs"] < report.row("native").values["max_abs"]
    with pytest.raises(InvalidArgumentError, match="made without its run"):
        replace(report, origin=None).again()
