"""ProfileView from the kernel's side: its columns, its baseline, its colours on a graph."""

import numpy as np
import pytest
import torch
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError


@pytest.fixture(scope="module")
def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3), nn.LogSoftmax(1)).eval()
    return etlab.export(model, (torch.randn(2, 5),), partitioner="xnnpack", name="net")


@pytest.fixture(scope="module")
def report(run):
    return run.profile(runs=3, warmup=1, threads=1)


def test_columns_frame_and_snapshot_say_the_same(report):
    view = report.widget()
    content, frame = view.content["report"], report.to_dataframe()
    assert content["names"] == list(frame.node)
    seconds = np.frombuffer(content["seconds"]).reshape(-1, report.runs)
    assert np.median(seconds, axis=1) * 1e3 == pytest.approx(frame.p50_ms.to_numpy())
    parents = np.frombuffer(content["parent"], np.int32)
    assert [frame.node[p] if p >= 0 else "" for p in parents] == list(frame.part)
    roofs = np.frombuffer(content["roof"])
    assert [None if np.isnan(one) else one for one in roofs] == [row.roof for row in report.rows]
    assert content["endToEnd"]["p50"] == report.end_to_end.p50
    assert view._snapshot_html() == report._repr_html_()
    assert repr(view) == f"ProfileView({report!r})"


def test_baseline_stands_beside_and_in_the_code(run, report):
    other = run.profile(runs=2, warmup=0, threads=1)
    view = report.widget(baseline=other, by="module")
    assert view.content["baseline"]["runs"] == 2
    assert "report.widget(by='module', baseline=baseline)" in view.code
    view.selection = [report.rows[0].node]
    view.baseline = None
    assert view.content["baseline"] is None
    assert view.code == "report = run.profile()\nreport.widget(by='module')"
    view.report = other
    assert view.content["report"]["runs"] == 2
    assert view.selection == [report.rows[0].node]


def test_times_colour_the_graph(run, report):
    view = run.graph().widget()
    made = view.overlay(report)
    assert (made.name, made.unit, made.unmatched) == ("latency", "s", ())
    call = next(row for row in report.rows if row.kind == "delegate")
    assert made.values[run.graph().places[call.node]] == pytest.approx(call.samples.p50)


def test_wrong_arguments_are_refused_in_words(report):
    with pytest.raises(InvalidArgumentError, match="choose from node, operator"):
        report.widget(by="taste")
    with pytest.raises(InvalidArgumentError, match=r"`baseline` is a int; run\.profile\(\)"):
        report.widget(baseline=3)
    with pytest.raises(InvalidArgumentError, match=r"expected a ProfileReport.*run\.profile\(\)"):
        etlab.ProfileView(None)
