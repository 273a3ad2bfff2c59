"""The rounds of a bench as a table, as a page, and choices whose package is missing."""

import json

import pytest
import torch
from torch import nn

import etlab
from etlab.choices import Choice, Choices
from etlab.widgets.workbench.picker import ChoicePicker


@pytest.fixture
def bench():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 333), nn.Tanh(), nn.Linear(333, 3)).eval()
    inputs = torch.linspace(-1, 1, 15).reshape(3, 5)
    return etlab.Workbench(model, inputs, name="net", on_change=False)


def test_rounds_are_a_table_of_numbers(bench):
    for choice in ("none", "xnnpack"):
        bench.partitioner.value = choice
        bench.lower_and_run()
    frame = bench.table.to_dataframe()
    assert list(frame.partitioner) == ["none", "xnnpack"]
    assert list(frame.file) == [len(one.run.file.data) for one in bench.rounds]
    assert list(frame.delegated) == [0.0, 1.0]
    assert "1 (baseline)" in str(bench.table)
    assert bench.table._repr_html_() == bench.history.value


def test_a_bench_becomes_a_page_with_every_round(bench, tmp_path):
    bench.lower_and_run()
    page = etlab.report(bench, tmp_path / "net.html")
    results = json.loads((tmp_path / "net.json").read_text())["results"]
    assert [one["kind"] for one in results] == ["Rounds", "ParityReport", "DelegationReport"]
    assert "rounds of this bench" in page.read_text()


def test_a_choice_whose_package_is_missing_is_offered_with_its_name():
    way_out = "npu_tools: pip install 'etlab[npu]'"
    choices = Choices([Choice("none", "as it is", {}), Choice("npu", "Runs there.", {}, way_out)])
    picker = ChoicePicker("Partitioner", choices, value="npu", tooltip="who")
    assert picker.dropdown.options[1] == ("npu (not installed)", "npu")
    assert "Runs there. Not installed: npu_tools: pip install" in picker.summary.value
    assert picker.value == "npu"
