"""The simulation is the reference model: every integer, accumulated and by layer."""

import pytest
import torch
from torch import nn
from tosa_checks import waves

import etlab
from etlab.errors import InvalidArgumentError
from etlab.numerics import compare_layers

pytest.importorskip("tosa_reference_model", reason="tosa-tools is not installed")


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.first = nn.Conv2d(4, 8, 3, stride=2, padding=1)
        self.grouped = nn.Conv2d(8, 12, 3, groups=4, dilation=2, padding=2, bias=False)
        self.twice = nn.Conv2d(12, 24, (3, 1), groups=12, padding=(1, 0))
        self.up = nn.ConvTranspose2d(24, 5, 3, stride=2, padding=1, output_padding=1)
        self.line = nn.Conv1d(5, 6, 3, padding=1)
        self.head = nn.Linear(6, 7)

    def forward(self, x):
        x = nn.functional.relu6(self.first(nn.functional.pad(x, (0, 1, 0, 1))))
        x = self.up(torch.relu(self.twice(self.grouped(x))))
        pooled = nn.functional.hardswish(x).mean((2, 3))
        x = self.line(x.flatten(2)).transpose(1, 2)
        return self.head(x) + 0.5, pooled


@pytest.fixture(scope="module")
def data():
    return [(waves(1, 4, 9, 11, phase=phase),) for phase in (0.0, 0.4, 2.0)]


@pytest.fixture(scope="module")
def run(data):
    return etlab.export(
        Layers().eval(), data[0], quantizer="int8-arm", calibration=data, partitioner="tosa"
    )


def test_every_integer_is_the_reference_model_s(run, data):
    report = compare_layers(run, data, reference="quantized", paths=["native"], simulate="arm")
    rows = [row for row in report if row.accumulated is not None and row.accumulated.steps]
    assert len(rows) >= 8
    for row in rows:
        assert row.accumulated.steps.equal == row.accumulated.steps.total, row.operator
        assert row.local.steps.equal == row.local.steps.total, row.operator


def test_layers_compare_with_eager_from_inside_the_delegate(run, data):
    report = run.parity(data, paths=["native"])
    layers = report.layers.to_dataframe()
    native = layers[layers.path == "native"]
    assert (native.local_sqnr_db > 20).sum() >= 6


def test_a_model_in_floats_has_nothing_to_simulate(data):
    with pytest.raises(InvalidArgumentError, match="has no path 'quantized'"):
        etlab.export(Layers().eval(), data[0]).parity(data, simulate="arm")
