"""The simulation of XNNPACK's integer arithmetic is the device: every integer, accumulated."""

import pytest
import torch
from numerics.quantized_models import residual_run, samples
from small_models import IntegerLayers
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.numerics import compare_layers


def waves(*shape, phase=0.0):
    count = torch.Size(shape).numel()
    return (torch.linspace(0, 40, count) + phase).sin().reshape(shape) * 2


class Elementwise(nn.Module):
    def forward(self, x, y):
        x = torch.sigmoid(x) * y - torch.tanh(x + y)
        x = torch.cat([x, nn.functional.leaky_relu(y, 0.2)], 1)
        x = nn.functional.elu(nn.functional.pad(x, (1, 0, 2, 1)))
        x = nn.functional.max_pool2d(x, 3, 2, padding=1).permute(0, 2, 3, 1)
        return x[:, 1:].reshape(1, -1, 6), torch.clamp(x + x, -0.3, 0.7)


CASES = {
    "elementwise": (Elementwise, lambda phase: (waves(1, 3, 8, 9, phase=phase),) * 2),
    "layers": (IntegerLayers, lambda phase: (waves(1, 4, 9, 11, phase=phase),)),
}


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_every_integer_is_the_device_s(case, per_channel):
    model, inputs = CASES[case]
    data = [inputs(phase) for phase in (0.0, 0.4, 2.0)]
    quantizer = etlab.quantize.find_quantizer("int8", per_channel=per_channel)
    run = etlab.export(
        model().eval(), data[0], quantizer=quantizer, calibration=data, partitioner="xnnpack"
    )
    report = compare_layers(run, data, reference="quantized", paths=["native"], simulate="xnnpack")
    integers = [
        row for row in report if row.accumulated is not None and row.accumulated.steps is not None
    ]
    assert len(integers) >= 6
    for row in integers:
        assert row.accumulated.steps.equal == row.accumulated.steps.total, row.operator
        assert row.local.steps.equal == row.local.steps.total, row.operator


def test_integers_behind_what_is_computed_with_floats_are_at_most_one_step_off():
    """PyTorch and the device sum and exponentiate in another order: their floats are not equal."""

    class Attends(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.first, self.last = nn.Linear(7, 33), nn.Linear(33, 5)

        def forward(self, x):
            return self.last(torch.softmax(self.first(x), -1))

    data = [(waves(11, 7, phase=phase),) for phase in (0.0, 0.4, 2.0)]
    run = etlab.export(
        Attends().eval(), data[0], quantizer="int8", calibration=data, partitioner="xnnpack"
    )
    report = compare_layers(run, data, reference="quantized", paths=["native"], simulate="xnnpack")
    for operator in ("softmax", "linear_1"):
        row = next(row for row in report if row.operator == operator)
        for steps in (row.accumulated.steps, row.local.steps):
            assert steps.more == 0
            assert steps.share_equal > 0.999


def test_the_device_is_not_what_pt2e_simulates():
    run = residual_run(is_quantized=True)
    found = {}
    for simulate in (None, "xnnpack"):
        report = compare_layers(
            run, samples(), reference="quantized", paths=["native"], simulate=simulate
        )
        rows = [row for row in report if row.accumulated is not None and row.accumulated.steps]
        found[simulate] = sum(
            row.accumulated.steps.total - row.accumulated.steps.equal for row in rows
        )
    assert found["xnnpack"] == 0
    assert found[None] > 0


def test_rows_quantized_at_run_time_are_the_device_s_to_the_last_bits():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10)).eval()
    sample = (waves(5, 64),)
    run = etlab.export(model, sample, quantizer="int8-dynamic", partitioner="xnnpack")
    report = compare_layers(
        run, [sample], reference="quantized", paths=["native"], simulate="xnnpack"
    )
    rows = [row for row in report if row.local is not None]
    assert {row.kind for row in rows} >= {"linear"}
    assert all(row.local.relative < 1e-6 for row in rows)


def test_outputs_of_the_simulation_are_those_of_parity_reports():
    run = residual_run(is_quantized=True)
    report = run.parity(
        samples(), reference="quantized", paths=["quantized", "native"], simulate="xnnpack"
    )
    report.check(paths=["native"], max_abs=0.0)
    assert report.first_divergence is None


def test_a_backend_without_arithmetic_or_without_a_part_is_refused_in_words():
    run = residual_run(is_quantized=True, partitioner=None)
    with pytest.raises(InvalidArgumentError, match="partitioner='xnnpack'"):
        compare_layers(run, samples(1), reference="quantized", simulate="xnnpack")
    with pytest.raises(NotFoundError, match="no backend 'bogus'"):
        compare_layers(run, samples(1), reference="quantized", simulate="bogus")
