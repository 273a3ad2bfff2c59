"""What compilers expect of devices, stored and read back."""

import dataclasses
import json

import pytest
import torch
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError, InvalidProgramError
from etlab.exir.partition import (
    BackendDetails,
    DelegationSpec,
    Partitioner,
    PartitionResult,
    PreprocessResult,
)
from etlab.exir.partition.estimate import (
    Estimate,
    EstimatedMemory,
    EstimatedOperator,
    EstimatedTensor,
    read_estimate,
    write_estimate,
)

ESTIMATE = Estimate(
    "Compiler 1.0", "npu-7", {"memory mode": "fast"}, 5e8, 1000, 70, 30, 20,
    (EstimatedOperator("y", "conv", "Conv2D", "NPU", 900, 70, 0.5, 64, {"SRAM": 9}, 0),),
    (EstimatedMemory("SRAM", 64, 10, 20, 9, 4e9), EstimatedMemory("flash", 20, 20, 0, 5, 1e9)),
    (EstimatedTensor("y", "SRAM", "value", 16, 48, 0, 1),),
)  # fmt: skip


def test_an_estimate_is_read_as_it_was_written():
    assert read_estimate(write_estimate(ESTIMATE)) == ESTIMATE
    assert ESTIMATE.seconds == 2e-6
    assert (ESTIMATE.memory("SRAM"), ESTIMATE.memory("DRAM")) == (64, 0)


@pytest.mark.parametrize("change", [{"cycles": "1"}, {"operators": [{}]}, {"new": 1}, {"clock": 0}])
def test_damaged_estimates_are_refused(change):
    data = json.dumps(dataclasses.asdict(ESTIMATE) | change).encode()
    with pytest.raises(InvalidProgramError, match="estimate is damaged"):
        read_estimate(data)


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"{}"])
def test_what_is_no_estimate_is_refused(data):
    with pytest.raises(InvalidProgramError, match="estimate is damaged"):
        read_estimate(data)


def test_a_clock_that_stands_still_is_refused():
    with pytest.raises(InvalidArgumentError, match="clock above 0"):
        dataclasses.replace(ESTIMATE, clock=0.0)


class SameBytes(BackendDetails):
    """Whose delegates are all equal, as are those of equal subgraphs; names differ."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        (name,) = [n.name for n in edge_program.graph.nodes if n.op == "call_function"]
        return PreprocessResult(b"same", estimate=dataclasses.replace(ESTIMATE, source=name))


class EachAlone(Partitioner):
    def partition(self, exported_program):
        nodes = [n for n in exported_program.graph.nodes if n.op == "call_function"]
        for number, node in enumerate(nodes):
            node.meta["delegation_tag"] = f"same_{number}"
        tags = {f"same_{number}": DelegationSpec("SameBytes") for number in range(len(nodes))}
        return PartitionResult(exported_program, tags)


def test_equal_delegates_share_what_is_kept_beside_the_program(tmp_path):
    class Twice(nn.Module):
        def forward(self, x):
            return x + x, x * x

    run = etlab.export(Twice(), torch.ones(2), partitioner=EachAlone())
    assert [part.estimate.source for part in run.estimates().parts] == ["add_tensor", "mul_tensor"]
    kept = etlab.load(run.save(tmp_path / "twice.pte")).estimates()
    assert {part.estimate.source for part in kept.parts} == {"add_tensor"}
    assert not run.file.tensor_data
