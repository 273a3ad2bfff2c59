import dataclasses

import pytest
import torch
from numerics.quantized_models import Residual, residual_run, samples

import etlab
from etlab.errors import InvalidArgumentError
from etlab.numerics import StepCounts, compare_layers
from etlab.numerics.comparison import LayerComparison
from etlab.numerics.layer_report import LayerCheckError
from etlab.numerics.operators import operators_of
from etlab.numerics.recording import Recorder, module_outputs, record_modules


@pytest.fixture(scope="module")
def float_run():
    return residual_run()


@pytest.fixture(scope="module")
def integer_run():
    return residual_run(is_quantized=True)


@pytest.fixture(scope="module")
def integer_report(integer_run):
    return compare_layers(integer_run, samples(), reference="quantized", paths=["native"])


@pytest.mark.parametrize("partitioner", [None, "xnnpack", "reference"])
def test_operators_of_a_float_program_are_compared_inside_and_outside_of_delegates(partitioner):
    run = residual_run(partitioner=partitioner)
    report = compare_layers(run, samples(1), paths=["native", "exported"])
    rows = {row.operator: row for row in report if row.path == "native"}
    compared = {name for name, row in rows.items() if row.accumulated is not None}
    parts = {rows[name].part for name in compared}
    if partitioner == "reference":
        assert "linear" in compared  # what the delegate returns; inside it does not tell
    else:
        assert {"relu", "relu_1", "add", "mean", "linear"} <= compared
    assert parts <= ({""} if partitioner is None else {"lowered_module_0", ""})
    assert all(rows[name].accumulated.values["sqnr_db"] > 100 for name in compared)
    assert report.first_divergence() is None


def test_what_is_not_compared_says_why(integer_report):
    rows = {row.operator: row for row in integer_report}
    assert rows["conv2d"].reason == "folded into 'batch_norm'"
    assert rows["batch_norm"].reason == "computed in one step with 'relu'"
    assert rows["relu"].names == "conv2d + batch_norm + relu"
    coverage = integer_report.coverage[0]
    assert coverage.compared + sum(coverage.reasons.values()) == coverage.total == len(rows)
    assert str(coverage).startswith(f"native: {coverage.compared} of {coverage.total} operators")


def test_integers_are_compared_step_by_step(integer_report):
    compared = [row for row in integer_report if row.accumulated is not None]
    assert {row.compared_as for row in compared} == {"integers"}
    assert all(row.local is not None for row in compared)
    for row in compared:
        assert row.local.steps.total == row.accumulated.steps.total
        assert row.local.steps.largest <= 1
    relu = integer_report.row("relu")
    assert relu.local.steps.total == 3 * 8 * 9 * 11


def test_local_errors_are_smaller_than_accumulated_ones_deep_in_the_model(integer_run):
    report = compare_layers(integer_run, samples(1), paths=["native", "quantized"])
    for path in ("native", "quantized"):
        row = report.row("add", path)
        assert row.compared_as == "quantization"
        assert row.local.values["sqnr_db"] > row.accumulated.values["sqnr_db"]


def test_values_between_quantized_and_native_are_those_of_the_recorded_program(integer_run):
    pair = integer_run.tensors("relu", samples(1)[0], reference="quantized")
    values = Recorder(integer_run.quantized).run(samples(1)[0]).computed
    chain = next(
        one.chain
        for one in operators_of(integer_run.exported, integer_run.quantized)
        if one.name == "relu"
    )
    torch.testing.assert_close(pair.expected.float(), values[chain[-1]])
    assert pair.clip is not None
    low, high = pair.clip
    assert low <= float(pair.actual.min()) <= float(pair.actual.max()) <= high


def test_modules_in_eager_equal_the_exported_program(float_run):
    outputs = module_outputs(float_run.exported)
    found = record_modules(float_run.model, samples(1)[0], outputs)
    values = Recorder(float_run.exported).run(samples(1)[0]).computed
    assert set(found) == {"batch_norm", "linear", *(f"conv2d{i}" for i in ("", "_1", "_2", "_3"))}
    assert all(torch.equal(values[name], found[name]) for name in found)


def test_a_module_called_twice_has_both_results():
    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.layer(torch.relu(self.layer(x)))

    model, sample = Twice(), (torch.rand(2, 3),)
    exported = torch.export.export(model, sample)
    found = record_modules(model, sample, module_outputs(exported))
    assert torch.equal(found["linear"], model.layer(sample[0]))
    assert torch.equal(found["linear_1"], model(*sample))


def test_recording_of_updates_in_place_keeps_what_was_computed():
    class Updating(torch.nn.Module):
        def forward(self, x):
            y = x * 2
            z = y + 1
            y.mul_(3)
            return y + z

    sample = (torch.ones(3),)
    exported = torch.export.export(Updating(), sample)
    values = Recorder(exported).run(sample).computed
    assert torch.equal(values["mul"], torch.full((3,), 2.0))
    assert torch.equal(sample[0], torch.ones(3))


def test_forced_values_are_what_users_see(float_run):
    recorder = Recorder(float_run.exported)
    free = recorder.run(samples(1)[0])
    zeros = torch.zeros_like(free.computed["relu"])
    forced = recorder.run(samples(1)[0], {"relu": zeros})
    assert torch.equal(forced.computed["relu"], free.computed["relu"])
    bias = float_run.model.deep.bias.reshape(1, -1, 1, 1)
    assert torch.equal(forced.computed["conv2d_1"], bias.expand_as(free.computed["conv2d_1"]))


def test_report_of_parity_holds_the_operators(float_run):
    report = float_run.parity(samples(), paths=["native"])
    assert report.coverage[0].samples == 2
    assert report.first_divergence is None
    assert "native: " in str(report)
    assert "operators compared on 2 samples" in str(report)
    assert report.noise_floor["max_abs"] == 0.0
    worst = report.worst(2)
    assert len(worst) == 2
    frame = report.layers.to_dataframe()
    assert len(frame) == report.coverage[0].total
    lines = set(frame[frame.operator == "linear"].source)
    assert all(line.startswith("quantized_models.py:") for line in lines)
    html = report._repr_html_()
    assert "data:image/svg+xml" in html
    assert "operators compared on 2 samples" in html


def test_outputs_alone_are_compared_on_request(float_run):
    report = float_run.parity(samples(1), paths=["native"], layers=False)
    assert report.layers is None
    with pytest.raises(InvalidArgumentError, match="outputs only"):
        report.coverage  # noqa: B018


def test_a_reference_that_shows_no_operators_is_refused_in_words(float_run):
    with pytest.raises(InvalidArgumentError, match="eager, exported"):
        compare_layers(float_run, samples(1), reference="native")
    assert float_run.parity(samples(1), reference="native", paths=["eager"]).layers is None


def test_checks_of_layers_name_operator_and_line(integer_report):
    integer_report.check(max_abs=1.0)
    with pytest.raises(LayerCheckError, match=r"native, \w+ \(quantized_models.py:\d+\): sqnr_db"):
        integer_report.check(local=False, sqnr_db=1000)


def test_worst_sample_is_named(integer_report):
    rows = [row for row in integer_report if row.accumulated is not None]
    assert {row.accumulated.worst_sample for row in rows} <= {0, 1, 2}


def test_a_changed_step_is_the_first_divergence_with_its_tensors(integer_report):
    rows = list(integer_report.rows)
    place = next(i for i, row in enumerate(rows) if row.operator == "add")
    worse = dataclasses.replace(rows[place].local, steps=StepCounts(5, 0, 3, 9))
    rows[place] = dataclasses.replace(rows[place], local=worse)
    report = dataclasses.replace(integer_report, rows=tuple(rows))
    found = report.first_divergence()
    assert (found.operator, found.path) == ("add", "native")
    assert "scale" in found.parameters
    assert "quantized_models.py:" in str(found)
    assert found.tensors().actual.shape == (1, 8, 9, 11)
    assert "≠ add" in _depth(report)


def _depth(report):
    from etlab.numerics.depth_plot import draw_depth

    return draw_depth(report.rows, "sqnr_db")


def test_state_starts_afresh_in_every_sample():
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x):
            self.total.add_(x)
            return self.total * 2

    run = etlab.export(Counting(), (torch.ones(3),))
    report = compare_layers(run, [(torch.ones(3),)] * 3, paths=["native"])
    compared = [row for row in report if row.accumulated is not None]
    assert compared
    assert all(row.accumulated.values["max_abs"] == 0.0 for row in compared)


def test_models_without_modules_and_delegates_have_rows():
    class Plain(torch.nn.Module):
        def forward(self, x, y):
            top, bottom = torch.split(x, 2)
            values, places = torch.max(top * y + bottom, dim=1)
            return values.reshape(1, 2), places

    sample = (torch.rand(4, 3), torch.rand(2, 3))
    report = compare_layers(etlab.export(Plain(), sample), [sample], paths=["native"])
    rows = {row.operator: row for row in report}
    assert rows["mul"].local.values["max_abs"] == 0.0
    assert rows["max_1"].accumulated.values["max_abs"] == 0.0
    assert report.first_divergence() is None


def test_official_runtime_shows_its_operators_too(integer_run):
    pytest.importorskip("executorch")
    report = compare_layers(
        integer_run, samples(1), reference="quantized", paths=["native", "official"]
    )
    for operator in ("relu", "relu_1", "add", "linear"):
        native, official = (report.row(operator, path) for path in ("native", "official"))
        assert native.accumulated.steps == official.accumulated.steps
        assert native.local.steps == official.local.steps


def test_models_of_pytorch_modules_only_name_their_lines():
    run = etlab.export(Residual().eval(), samples(1)[0])
    report = compare_layers(run, samples(1), paths=["native"])
    assert all(row.source.startswith("quantized_models.py:") for row in report if row.line)


def test_steps_are_counted_by_what_computes_them_with_the_known_reason(integer_report):
    frame = integer_report.steps_by_kind().set_index("computed by")
    assert frame.operators.sum() == sum(row.local is not None for row in integer_report)
    shares = frame[["equal", "off by one", "off by more"]]
    assert shares.sum(axis=1).tolist() == pytest.approx([1.0] * len(frame))
    for kind, row in frame.iterrows():
        has_reason = kind in ("Conv2d", "DepthwiseConv2d", "FullyConnected", "Add")
        assert bool(row.reason) == (has_reason and row.equal < 1.0)


def test_handing_out_tensors_changes_no_output(integer_run):
    with LayerComparison(
        integer_run,
        reference="quantized",
        paths=["native"],
        metrics=["sqnr_db"],
        local=False,
        file=integer_run.file,
    ) as session:
        session.add(samples(1)[0])
        assert session.note("native") == ""
        session._pairs.programs["native"].changes_outputs = True
        assert "returns something else" in session.note("native")


def test_a_step_that_needs_other_delegates_runs_alone_with_parts_of_them():
    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.query, self.key = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

        def forward(self, x, mask):
            x = torch.nn.functional.layer_norm(x, (8,))
            query, key = self.query(x).unsqueeze(1), self.key(x).unsqueeze(1)
            return torch.nn.functional.scaled_dot_product_attention(query, key, query, mask)

    sample = (torch.rand(2, 5, 8), torch.rand(2, 1, 1, 5))
    run = etlab.export(Masked().eval(), sample, partitioner="xnnpack")
    report = compare_layers(run, [sample], paths=["native"])
    row = report.row("scaled_dot_product_attention", "native")
    assert row.local is not None, row.local_reason
    assert row.local.relative < 1e-5


@pytest.mark.parametrize("partitioner", [None, "xnnpack", "reference"])
def test_control_flow_is_not_compared_and_nothing_is_computed_through_it(partitioner):
    class Branch(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,)) + 1

    for sample in ((torch.rand(3),), (-torch.rand(3),)):
        run = etlab.export(Branch(), sample, partitioner=partitioner)
        report = compare_layers(run, [sample], paths=["native"])
        assert report.row("cond").reason.startswith("control flow")
        assert report.first_divergence() is None
        assert report.row("add").accumulated is None or (
            report.row("add").accumulated.values["max_abs"] == 0.0
        )


def test_complex_results_have_a_tolerance_too():
    class Spectrum(torch.nn.Module):
        def forward(self, x):
            return torch.fft.fft(x) * 1.5

    sample = (torch.rand(8),)
    with pytest.warns(UserWarning, match="complex"):  # the official runtime has no such kernel
        run = etlab.export(Spectrum(), sample)
    report = compare_layers(run, [sample], paths=["native"])
    assert report.row("fft_fft").accumulated is not None
    assert report.first_divergence() is None


def test_loops_of_recurrent_layers_do_not_stand_in_the_way():
    class Recurrent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.GRU(4, 3, batch_first=True)
            self.head = torch.nn.Linear(3, 2)

        def forward(self, x):
            return self.head(self.layer(x)[0])

    sample = (torch.rand(2, 5, 4),)
    report = compare_layers(etlab.export(Recurrent().eval(), sample), [sample], paths=["native"])
    linear = report.row("linear")
    assert linear.accumulated.values["sqnr_db"] > 100
    assert report.first_divergence() is None


def test_pictures_are_well_formed():
    from xml.etree import ElementTree

    run = residual_run()
    report = compare_layers(run, samples(1), paths=["native", "exported"])
    for svg in (_depth(report), run.tensors("relu", samples(1)[0]).histogram()):
        assert ElementTree.fromstring(svg).tag.endswith("svg")


def test_a_view_that_goes_into_a_delegate_is_what_it_reads():
    from etlab.errors import NotFoundError
    from etlab.models import silero_vad

    try:
        model = silero_vad.load()
    except NotFoundError as error:
        pytest.skip(str(error))
    sample = (torch.linspace(0, 40, 512).sin().reshape(1, 512),)
    run = etlab.export(model, sample, partitioner="xnnpack")
    report = compare_layers(run, [sample], paths=["native"])
    assert report.coverage[0].local >= 20
    assert report.first_divergence() is None


@pytest.mark.parametrize("quantizer", ["fp16", "8da4w"])
def test_programs_exported_anew_with_free_sizes_are_compared(quantizer):
    model = torch.nn.Sequential(torch.nn.Linear(32, 5), torch.nn.ReLU(), torch.nn.LayerNorm(5))
    sizes = ({0: torch.export.Dim("rows", max=9)},)
    inputs = (torch.linspace(-1, 1, 96).reshape(3, 32),)
    run = etlab.export(model.eval(), inputs, quantizer=quantizer, dynamic_shapes=sizes)
    report = run.parity((torch.linspace(-1, 1, 224).reshape(7, 32),), paths=["native"])
    assert report.layers is not None, report.warnings
    assert [row.accumulated is not None for row in report.layers.rows] == [True] * 3
