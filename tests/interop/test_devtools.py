"""ETDump, ETRecord and BundledProgram, both ways between us and ExecuTorch's own tools."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from etlab.backends.xnnpack import XnnpackPartitioner
from etlab.devtools import (
    BundledProgram,
    Event,
    EventBlock,
    Inspector,
    MethodTestCase,
    MethodTestSuite,
)
from etlab.exir import to_edge_transform_and_lower
from etlab.numerics.official import is_available
from etlab.runtime import Runtime


class Net(nn.Module):
    """Operators with one result and several, delegated and not; and a branch if asked for."""

    def __init__(self, *, has_branch: bool) -> None:
        super().__init__()
        self.has_branch = has_branch
        self.first = nn.Conv2d(3, 5, 3)
        self.second = nn.Linear(5, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.second(torch.relu(self.first(x)).mean((2, 3)))
        z = y.sin()
        if self.has_branch:
            z = torch.cond(y.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (y,))
        return z + torch.topk(y, 4).values.cumsum(1)


class Whole(nn.Module):
    """All for one delegate, with one output."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 5, 3)
        self.second = nn.Linear(5, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)).mean((2, 3))).sin()


NAMES = ["portable", "xnnpack", "branches", "whole"]
DELEGATED = ("xnnpack", "whole")


@pytest.fixture(scope="module")
def exchanged(tmp_path_factory) -> tuple[Path, dict[str, Any]]:
    """A folder with files of both sides, and what the official tools said of ours."""
    if not is_available():
        pytest.skip("executorch is not installed: pip install 'etlab[official]'")
    folder = tmp_path_factory.mktemp("devtools")
    torch.manual_seed(0)
    x = torch.randn(1, 3, 7, 7)
    torch.save([x], folder / "inputs.pt")
    for name in NAMES:
        model = (Whole() if name == "whole" else Net(has_branch=name == "branches")).eval()
        exported = torch.export.export(model, (x,))
        partitioner = XnnpackPartitioner() if name in DELEGATED else None
        program = to_edge_transform_and_lower(
            exported, partitioner=partitioner, generate_etrecord=True
        ).to_executorch()
        program.save(folder / f"{name}.pte")
        record = program.get_etrecord()
        record.update_representative_inputs([x])
        record.save(folder / f"{name}.etrecord")
        method = Runtime.get().load_program(program.buffer).load_method("forward")
        with method.trace(results=True) as trace:
            method.execute([x])
            method.execute([x])
        orders = record.value_orders() if name == "whole" else None
        trace.save(folder / f"{name}.etdp", folder / f"{name}.bin", orders)
        # The second case is wrong on purpose.
        cases = [MethodTestCase((one,), model(x).detach()) for one in (x, x * 0.5)]
        BundledProgram(program, [MethodTestSuite("forward", cases)]).save(folder / f"{name}.bpte")
    script = Path(__file__).with_name("official_devtools.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder, json.loads((folder / "answers.json").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_the_official_inspector_finds_the_official_events_in_our_dump(exchanged, name):
    _, answers = exchanged
    ours = [tuple(event) for event in answers[name]["events"]]
    official = [tuple(event) for event in answers[name]["official"]]
    inside = {event for event in ours if "[" in event[1] or event[1].startswith("Convert")}
    assert [event for event in ours if event not in inside] == official
    assert bool(inside) == (name in DELEGATED)
    assert set(answers[name]["runs"]) == {1, 2}


def test_the_official_inspector_finds_the_operators_of_our_delegates_nodes(exchanged):
    operators = exchanged[1]["xnnpack"]["operators"]
    nodes = {name: found for name, found in operators.items() if "[" in name}
    convolution = next(name for name in nodes if name.startswith("Conv2d"))
    assert nodes[convolution] == ["aten.convolution.default", "aten.relu.default"]
    for name, found in nodes.items():
        assert found or name.startswith(("StaticTranspose", "GlobalAvgPooling2d"))  # half-way
    assert operators["native_call_topk.values"] == ["aten.topk.default"]


def test_the_official_numeric_gap_works_on_our_files(exchanged):
    for name, wanted in {
        "portable": {"convolution_default", "linear_default", "cumsum_default"},
        "whole": {"convolution_default relu_default", "mean_dim", "linear_default", "sin_default"},
    }.items():
        gaps = exchanged[1][name]["gaps"]
        assert wanted <= set(gaps)
        assert all(gap < 1e-4 for values in gaps.values() for gap in values), gaps


@pytest.mark.parametrize("name", NAMES)
def test_the_official_runtime_verifies_our_bundled_programs(exchanged, name):
    assert exchanged[1][name]["bundle"] == [True, False]


def outside_of_nodes(block: EventBlock) -> list[Event]:
    return [event for event in block.events if not event.is_delegated_op]


@pytest.mark.parametrize("name", NAMES)
def test_our_inspector_reads_official_dumps(exchanged, name):
    folder, _ = exchanged
    inspector = Inspector(
        folder / f"official_{name}.etdp",
        debug_buffer_path=folder / f"official_{name}.bin",
        etrecord=folder / f"{name}.etrecord",
    )
    ours = Inspector(folder / f"{name}.etdp", debug_buffer_path=folder / f"{name}.bin")
    official_load, official_run = inspector.event_blocks
    load, run = ours.event_blocks
    assert (official_load.runs, official_run.runs) == (load.runs, run.runs) == (1, 2)
    for theirs, mine in ((official_load, load), (official_run, run)):
        names = [event.name for event in outside_of_nodes(theirs)]
        assert names == [event.name for event in outside_of_nodes(mine)]
    pairs = zip(outside_of_nodes(official_run), outside_of_nodes(run), strict=True)
    for theirs, mine in pairs:
        torch.testing.assert_close(theirs.debug_data, mine.debug_data)
    torch.testing.assert_close(official_run.run_output, run.run_output)
    frame = inspector.calculate_numeric_gap("L1")
    assert all(gap < 1e-4 for gaps in frame.gap for gap in gaps)
