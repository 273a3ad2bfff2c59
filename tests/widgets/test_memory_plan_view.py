"""MemoryPlanView from the kernel's side: its columns, its plans, its words."""

import numpy as np
import pytest
import torch

import etlab
from etlab.errors import InvalidArgumentError, NotFoundError


@pytest.fixture(scope="module")
def run():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 5, 3), torch.nn.ReLU(), torch.nn.Conv2d(5, 7, 3), torch.nn.Flatten()
    ).eval()
    return etlab.export(model, (torch.ones(1, 3, 11, 11),), name="toy")


def texts(column):
    return [column["table"][code] for code in np.frombuffer(column["codes"], np.int32)]


def test_columns_table_and_snapshot_say_the_same(run):
    report = run.memory_plan()
    view = report.widget()
    frame = report.to_dataframe()
    assert view.content["names"] == list(frame.name)
    assert np.frombuffer(view.content["offset"]).tolist() == list(frame.offset)
    assert np.frombuffer(view.content["nbytes"]).tolist() == list(frame.nbytes)
    assert np.frombuffer(view.content["first"], np.int32).tolist() == list(frame.first_use)
    assert texts(view.content["source"]) == list(frame.source)
    assert texts(view.content["module"]) == list(frame.module)
    assert np.frombuffer(view.content["live"]).max() == view.content["bound"] == report.lower_bound
    assert view._snapshot_html() == report._repr_html_()
    assert view.to_svg() == report.to_svg()
    assert repr(view) == f"MemoryPlanView({report!r})"


def test_replanning_moves_tensors_and_says_so_in_code(run):
    report = run.memory_plan()
    view = report.widget()
    view.selection = [report.plan.tensors[1].name]
    naive = view.replan("naive", 64)
    naive.check()
    assert naive.plan.alignment == 64
    assert all(tensor.offset % 64 == 0 for tensor in naive.plan.tensors)
    assert view.content["peak"] == naive.peak > report.peak
    assert view.content["before"]["peak"] == report.peak
    assert view.selection == [report.plan.tensors[1].name]
    scope = {"run": run}
    exec(view.code.replace(".widget()", ""), scope)
    assert "report.replanned('naive', alignment=64)" in view.code
    assert report.replanned("naive", 64) == naive
    assert naive.peak == report.what_if(["naive"], [64]).best.nbytes
    assert view.replan() is report
    assert view.code == "report = run.memory_plan()\nreport.widget()"


def test_page_replans_in_the_kernel_and_hears_refusals_in_words(run):
    view = run.memory_plan().widget()
    said = []
    view.send = lambda message: said.append(message)
    view._answer(None, {"type": "replan", "id": 1, "planner": "naive", "alignment": 32}, [])
    assert said == [{"id": 1}]
    assert view.shown.plan.planner == "naive"
    view._answer(None, {"type": "replan", "id": 2, "planner": "nobody", "alignment": 32}, [])
    assert "no memory planner 'nobody'" in said[1]["problem"]
    view._answer(None, {"type": "what if", "id": 3, "alignment": 16}, [])
    rows = {name: nbytes for name, nbytes, _ in said[2]["rows"]}
    frame = run.memory_plan().what_if().to_dataframe().set_index("planner")
    assert rows == frame.nbytes.to_dict()
    view._answer(None, {"type": "nonsense", "id": 4}, [])
    assert "has no answer to 'nonsense'" in said[3]["problem"]
    view._answer(None, "nonsense", [])
    assert len(said) == 4


def test_another_report_takes_the_place_of_the_first(run):
    view = run.memory_plan().widget(use=run.memory())
    view.replan("naive")
    view.selection = ["nothing of it"]
    view.report = run.memory_plan(planner="greedy")
    assert view.content["planner"] == "greedy"
    assert view.selection == []
    assert [name for name, _ in view.content["lanes"]] == [
        "constants in the file",
        *(term.name for term in run.memory().terms if term.name in ("temporary", "packed weights")),
    ]


def test_constants_have_a_lane_with_the_bytes_of_the_size_report(run):
    for report in (run.memory_plan(), run.memory_plan(planner="naive"), run.file.memory_plan()):
        [[name, nbytes]] = report.widget().content["lanes"]
        assert name == "constants in the file"
        parts = run.size().by_kind
        assert nbytes == report.constants
        assert nbytes >= parts["constant"] + parts.get("delegate", 0) > 0
        assert nbytes <= run.size().total - parts["program"]


def test_wrong_arguments_are_refused_in_words(run):
    report = run.memory_plan()
    with pytest.raises(InvalidArgumentError, match=r"a MemoryReport.*run\.memory_plan\(\)"):
        etlab.MemoryPlanView(run)
    with pytest.raises(InvalidArgumentError, match=r"run\.memory\(\) gives a MemoryUse"):
        report.widget(use=3)
    with pytest.raises(InvalidArgumentError, match="choose from operator, module"):
        report.widget(color_by="taste")
    with pytest.raises(InvalidArgumentError, match="power of two, not 12"):
        report.replanned(alignment=12)
    with pytest.raises(NotFoundError, match="no memory planner 'nobody'"):
        report.replanned("nobody")
