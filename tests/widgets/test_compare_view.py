"""CompareView from the kernel's side."""

import numpy as np
import pytest
import torch
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError, NotFoundError


@pytest.fixture(scope="module")
def comparison():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 5, 3), nn.Dropout(), nn.Tanh()).eval()
    run = etlab.export(model, (torch.ones(1, 3, 5, 5),), partitioner="xnnpack", name="toy")
    return etlab.compare(run)


def test_state_holds_graphs_families_and_marks(comparison):
    view = comparison.widget(theme="dark")
    assert repr(view) == "CompareView(toy, aten, toy, edge, toy, delegated)"
    for graph, links, marks in zip(comparison.graphs, view.links, view.marks, strict=True):
        assert len(np.frombuffer(links, np.int32)) == len(graph.nodes)
        assert len(np.frombuffer(marks, np.uint8)) == len(graph.nodes)
    aten = comparison.graphs[0]
    assert np.frombuffer(view.marks[0], np.uint8)[aten.places["dropout"]] == 2
    listed = [one for one in view.differences if one["at"] == [0, "dropout"]]
    assert [one["status"] for one in listed] == ["removed"]


def test_focus_selects_what_belongs_together(comparison):
    view = comparison.widget()
    view.focus("tanh_default")
    assert view.selection == [["tanh"], ["tanh_default"], ["tanh_default"]]
    view.focus("dropout")
    assert view.selection == [["dropout"], [], []]
    with pytest.raises(NotFoundError, match="none of the graphs"):
        view.focus("nothing")
    with pytest.raises(NotFoundError, match="choose from none, backend"):
        view.color_by = "nothing"
    with pytest.raises(InvalidArgumentError, match=r"etlab\.compare"):
        etlab.CompareView("nothing")
