"""ParityView from the kernel's side: its numbers, its tensors, the way back to the quantizer."""

import math

import pytest
import torch
from report_models import splitting_run

import etlab
from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.numerics.histogram import count_values


@pytest.fixture(scope="module")
def report():
    paths = ["exported", "quantized", "native"]
    return splitting_run(quantizer="int8:per_channel=False").parity(paths=paths)


def number(cell):
    return math.nan if cell[0] is None else float(cell[0])


def test_page_gets_the_numbers_of_the_table(report):
    content = report.widget().content
    frame = report.layers.to_dataframe()
    names = [one[0] for one in content["operators"]]
    for path, _ in content["paths"]:
        rows = frame[frame.path == path].reset_index()
        assert [names[row[0]] for row in content["rows"][path]] == list(rows.operator)
        assert [row[3] for row in content["rows"][path]] == list(rows.diverges)
        for place, metric in enumerate(report.layers.metrics):
            for at, prefix in ((8, ""), (9, "local_")):
                cells = [
                    number(row[at][place]) if row[at] else math.nan for row in content["rows"][path]
                ]
                expected = list(rows[prefix + metric].astype(float))
                assert cells == pytest.approx(expected, nan_ok=True)
    outputs = report.to_dataframe()
    assert [row[0] for row in content["outputs"]] == list(outputs.path)
    assert number(content["outputs"][3][4][0]) == outputs.sqnr_db[3]
    assert [one[:4] for one in content["coverage"]] == [
        [one.path, one.compared, one.local, one.total] for one in report.coverage
    ]


def test_selected_operators_stay_in_float_in_the_next_run(report):
    view = report.widget(path="quantized", metric="max_abs")
    assert (view.path, view.metric) == ("quantized", "max_abs")
    view.selection = ["relu", "linear"]
    assert view.keep_float() == ["first", "norm", "head"]
    before = view.report.row("native").values["sqnr_db"]
    view._answer(None, {"type": "rerun", "id": 1}, [])
    assert view.wait(120)
    assert (view.problem, view.working) == ("", "")
    assert view.run.options["quantizer"].keep_float == ("first", "norm", "head")
    assert view.report.row("native").values["sqnr_db"] > before + 6
    assert view.selection == ["relu", "linear"]
    assert view.code == (
        "run = run.again(keep_float=['first', 'norm', 'head'])\n"
        "report = run.parity(paths=['exported', 'quantized', 'native'])"
    )
    assert [row[2] for row in view.rounds] == ["", "first, norm, head"]
    view.compare_with("quantized")
    assert view.content["reference"] == "quantized"
    assert view.path == "native"
    with pytest.raises(InvalidArgumentError, match="select operators of modules first"):
        view.rerun([])


def test_work_can_be_stopped_and_its_errors_are_said(report):
    view = report.widget()
    shown = view.report
    view.start(view.rerun, ["nothing"])
    assert view.wait(120)
    assert "no module nothing" in view.problem
    view.start(lambda: view.stop() or view.rerun(["head"]))
    assert view.wait(120)
    assert view.problem == "stopped; what is shown is from before"
    assert view.report is shown
    assert view.working == ""


def test_tensors_are_asked_for_and_their_counts_are_those_of_the_pair(report):
    view = report.widget()
    said = []
    view.send = lambda message: said.append(message)
    question = {"type": "tensors", "id": 7, "operator": "linear", "path": "native"}
    view._answer(None, question, [])
    pair = report.layers.tensors("linear", "native")
    (answer,) = said
    assert answer["id"] == 7
    assert answer["actual"] == list(pair.counts.actual)
    assert answer["clip"] == list(pair.clip)
    assert answer["beyond"] == list(pair.clipped)
    assert len(answer["points"]) == pair.actual.numel()
    assert dict(map(tuple, answer["metrics"]))["SQNR (dB)"] in repr(pair)
    view._answer(None, {**question, "operator": "nothing"}, [])
    assert "no operator 'nothing'" in said[1]["problem"]
    view._answer(None, {"type": "nonsense", "id": 8}, [])
    assert "no answer" in said[2]["problem"]


def test_report_without_layers_shows_outputs(report):
    view = report.again(layers=False).widget()
    assert view.content["operators"] == []
    assert (view.path, view.metric) == ("", "")
    with pytest.raises(NotFoundError, match="compares outputs only"):
        view.path = "native"
    with pytest.raises(NotFoundError, match="choose from sqnr_db"):
        report.widget(metric="nothing")
    with pytest.raises(InvalidArgumentError, match=r"run\.parity\(\) gives one"):
        etlab.ParityView("nothing")


def test_histogram_counts_what_lies_beyond_the_range():
    found = count_values(torch.tensor([0.0, 4.0, math.nan]), torch.tensor([0.0, 5.0]), (1.0, 4.0))
    assert (found.low, found.high, found.beyond) == (0.0, 5.0, (0.5, 0.5))
    assert sum(found.actual) == sum(found.expected) == 2
    nothing = count_values(torch.tensor([]), torch.tensor([math.inf]))
    assert (nothing.low, nothing.high, sum(nothing.expected)) == (0.0, 1.0, 0)
