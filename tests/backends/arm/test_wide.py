"""Activations of 16 bits: the reference model's integers, and much closer to floats."""

import pytest
import torch
from torch import nn
from tosa_checks import check_against_reference_model, delegates, operators, waves

import etlab
from etlab.backends.arm.tosa import TosaCompileSpec, TOSAPartitioner

pytest.importorskip("tosa_reference_model", reason="tosa-tools is not installed")


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(4, 8, 3, stride=2, padding=1)
        self.deep = nn.Conv2d(8, 8, 3, groups=8, padding=1)
        self.grouped = nn.Conv2d(8, 6, 1, groups=2)
        self.up = nn.ConvTranspose2d(6, 5, 3, stride=2)
        self.head = nn.Linear(5, 7)

    def forward(self, x):
        x = nn.functional.relu6(self.first(x))
        x = self.up(self.grouped(nn.functional.silu(self.deep(x)) * 0.5 + x))
        x = nn.functional.avg_pool2d(nn.functional.pad(x, (1, 0, 0, 1)), 2)
        return self.head(torch.maximum(x, -x).mean((2, 3)))


def lowered(quantizer, **options):
    data = [(waves(1, 4, 9, 11, phase=phase),) for phase in (0.0, 0.4)]
    partitioner = options.pop("partitioner", "tosa")
    return etlab.export(
        Layers().eval(), data[0], quantizer=quantizer, calibration=data, partitioner=partitioner
    )


def test_all_runs_on_16_bits_to_the_bit_and_nearer_to_floats():
    run = lowered("int16-arm")
    (delegate,) = delegates(run)
    check_against_reference_model(delegate.processed_bytes)
    named = operators(delegate.processed_bytes)
    assert {"CONV2D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D", "TABLE", "MAXIMUM"} <= set(named)
    closeness = {
        quantizer: one.parity(paths=["native"], local=False).row("native").values["sqnr_db"]
        for quantizer, one in {"int16": run, "int8": lowered("int8-arm")}.items()
    }
    assert closeness["int16"] > closeness["int8"] + 6


def test_the_simulation_is_the_reference_model():
    report = lowered("int16-arm").parity(
        reference="quantized", paths=["native"], simulate="arm", layers=False
    )
    assert report.row("native").values["max_abs"] == 0.0


def test_a_specification_of_8_bits_leaves_them_with_the_way_out():
    run = lowered("int16-arm", partitioner=TOSAPartitioner(TosaCompileSpec("TOSA-1.0+INT")))
    assert not delegates(run)
    helps = {row.help for row in run.delegation().rejected}
    assert any("TOSA-1.0+INT+int16" in text for text in helps)
