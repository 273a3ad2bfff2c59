"""The simulation is the reference model: every integer, accumulated and by layer."""

import pytest
from small_models import IntegerLayers
from tosa_checks import waves

import etlab
from etlab.errors import InvalidArgumentError
from etlab.numerics import compare_layers

pytest.importorskip("tosa_reference_model", reason="tosa-tools is not installed")


@pytest.fixture(scope="module")
def data():
    return [(waves(1, 4, 9, 11, phase=phase),) for phase in (0.0, 0.4, 2.0)]


@pytest.fixture(scope="module")
def run(data):
    return etlab.export(
        IntegerLayers().eval(), data[0], quantizer="int8-arm", calibration=data, partitioner="tosa"
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
        etlab.export(IntegerLayers().eval(), data[0]).parity(data, simulate="arm")
