"""What ExecuTorch's Arm backend makes of a graph for Ethos-U, and what ours does: one and the same.

ExecuTorch's runtime for Python has no EthosUBackend, so its writer is the judge.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from tosa_checks import delegates, lowered_run, waves

from etlab.backends.arm.ethosu import (
    EthosUCompileSpec,
    EthosUPartitioner,
    VelaExternalBlockPlacements,
)
from etlab.backends.arm.ethosu.backend import GRAPH
from etlab.exir.partition.host_only import host_key
from etlab.numerics.official import is_available

pytest.importorskip("tosa_serializer", reason="tosa-tools is not installed")
pytest.importorskip("ethosu", reason="ethos-u-vela is not installed")
pytestmark = pytest.mark.skipif(
    not is_available(), reason="executorch is not installed: pip install 'etlab[official]'"
)

SPECS = {
    "u55": EthosUCompileSpec("ethos-u55-128"),
    "u65_small": EthosUCompileSpec("ethos-u65-512", extra_flags=("--optimise=Size",)),
    "u85_outside": EthosUCompileSpec(
        "ethos-u85-256",
        external_block_placements=VelaExternalBlockPlacements(weight_data="flash"),
    ),
}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """By name our delegate, and what the official backend made of its graph and specs."""
    folder = tmp_path_factory.mktemp("ethosu")
    module = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 2, 2))
    ours, given = {}, {}
    for name, spec in SPECS.items():
        run = lowered_run(module, waves(1, 3, 8, 6), partitioner=EthosUPartitioner(spec))
        (delegate,) = delegates(run)
        graph = delegate.named_data[host_key(GRAPH, delegate.processed_bytes)]
        given[name] = graph, [(one.key, one.value) for one in delegate.compile_specs]
        ours[name] = delegate
    torch.save(given, folder / "given.pt")
    script = Path(__file__).with_name("official_ethosu.py")
    done = subprocess.run([sys.executable, script, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    made = torch.load(folder / "made.pt")
    return {name: (ours[name], made[name]) for name in SPECS}


@pytest.mark.parametrize("name", SPECS)
def test_streams_and_compile_specs_are_the_official_ones(name, both):
    ours, (stream, outside, specs) = both[name]
    assert ours.processed_bytes == stream
    assert {key: ours.named_data[key] for key in outside} == outside
    assert specs == [
        (one.key, one.value) for one in EthosUCompileSpec(SPECS[name].target).to_list()
    ]
