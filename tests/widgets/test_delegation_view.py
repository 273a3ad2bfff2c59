"""DelegationView from the kernel's side: what it sends is what the report says."""

from dataclasses import replace

import pytest
import torch
from report_models import splitting_run
from small_models import Mlp

import etlab
from etlab.errors import InvalidArgumentError


@pytest.fixture(scope="module")
def run():
    return splitting_run()


def test_page_gets_the_numbers_of_the_table(run):
    report = run.delegation(runs=2)
    content = report.widget().content
    frame = report.to_dataframe()
    assert [row[0] for row in content["calls"]] == list(frame.node)
    assert [row[5] for row in content["calls"]] == list(frame.nbytes)
    backends = content["backends"]
    assert backends == ["XnnpackBackend", "own kernels"]
    assert [row[8] == 0 for row in content["calls"]] == list(frame.delegated)
    assert dict(content["shares"])["calls"] == pytest.approx(
        [frame.delegated.mean(), 1 - frame.delegated.mean()]
    )
    assert [weight for weight, _ in content["shares"]] == ["calls", "bytes", "FLOPs", "time"]
    stayed = frame[~frame.delegated]
    assert sum(row[3] for row in content["reasons"]) == len(stayed) == 2
    assert {row[1] for row in content["reasons"]} == set(stayed.help)
    assert len(content["borders"]) == len(report.borders)


def test_selection_is_taken_by_a_graph_view_and_survives_another_report(run):
    view = run.delegation().widget(height=300)
    assert repr(view).startswith("DelegationView(DelegationReport(toy, xnnpack: ")
    names = [call.node for call in view.report.calls]
    view.selection = names
    graph = run.graph().widget()
    graph.selection = view.selection
    assert set(names) <= set(graph.data.places)
    assert view.code == "run.delegation()"
    view.report = run.delegation(runs=1)
    assert view.code == "run.delegation(runs=1)"
    assert view.selection == names
    view.report = etlab.export(Mlp().eval(), torch.ones(3, 5)).delegation()
    assert view.content["backends"] == ["own kernels"]
    known = {call.node for call in view.report.calls}
    assert view.selection == [name for name in names if name in known] != names
    with pytest.raises(InvalidArgumentError, match=r"run\.delegation\(\) gives one"):
        etlab.DelegationView("nothing")


def test_times_are_measured_when_asked_for(run):
    view = run.delegation().widget()
    assert "time" not in dict(view.content["shares"])
    view._answer(None, {"type": "measure", "id": 1}, [])
    assert view.wait(60)
    assert (view.problem, view.report.runs) == ("", 5)
    assert sum(dict(view.content["shares"])["time"]) == pytest.approx(1)
    assert view.code == "run.delegation(runs=5)"
    with pytest.raises(InvalidArgumentError, match="made without its run"):
        replace(view.report, _measure=None).measured()
