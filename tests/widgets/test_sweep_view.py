"""SweepView from the kernel's side: its numbers, its bounds, the way to a run."""

import math
from pathlib import Path

import pytest
import torch
from small_models import Mlp

import etlab
from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.sweeping import Sweep, SweepRow
from etlab.sweeping.objectives import find_objective

FIGURES = {"none": (math.inf, 4000.0), "fp16": (60.0, 2000.0), "int8": (40.0, 1000.0)}


def sweep_of(*more):
    rows = [
        SweepRow(name, "none", name, "ok", "", 1.0, {"sqnr_db": sqnr, "size": size})
        for name, (sqnr, size) in FIGURES.items()
    ]
    rows += [SweepRow("again", "none", "int8", "ok", "", 1.0, {"sqnr_db": math.nan, "size": 5.0})]
    rows += [SweepRow("broken", "<b>", "8da4w", "failed", "no kernel for <x>"), *more]
    objectives = (find_objective("sqnr_db"), find_objective("size"))
    return Sweep("Mlp", objectives, tuple(rows), "1 sample", Path("s.parquet"), ("a note",))


def test_page_gets_the_numbers_of_the_table():
    sweep = sweep_of()
    view = sweep.widget()
    frame = sweep.to_dataframe()
    rows = view.content["rows"]
    assert [row[0] for row in rows] == [
        "none, none",
        "none, fp16",
        "none, int8",
        "none, int8 #2",
        "<b>, 8da4w",
    ]
    sizes = [row[5][1][0] for row in rows[:4]]
    assert sizes == list(frame["size"][:4])
    assert [row[5][0][0] for row in rows] == ["Infinity", 60.0, 40.0, "NaN", None]
    assert [row[5][1][1] for row in rows[:2]] == ["3.9 KiB", "2.0 KiB"]
    front = [row[0] for row in rows if row[3] == "ok, front"]
    assert front == [f"none, {row.quantizer}" for row in sweep.pareto.rows]
    assert (rows[4][3], rows[4][4]) == ("failed", "no kernel for <x>")
    assert view.content["notes"] == ["a note"]
    assert repr(view) == "SweepView(Mlp: 4 ok, 1 failed; on 1 sample)"


def test_bounds_and_selection_are_python_values():
    view = sweep_of().widget(bounds={"size": 2000})
    assert (view.x, view.y, view.by) == ("size", "sqnr_db", "sqnr_db")
    assert view.best.quantizer == "fp16"
    assert view.code.endswith("run = sweep.export(sweep.best('size<=2000.0'))")
    view.bounds = {"sqnr_db": 50.0}
    view.by = "size"
    assert view.best.quantizer == "fp16"
    assert view.code.endswith("sweep.best('sqnr_db>=50.0', by='size'))")
    view.selection = ["none, int8 #2"]
    assert [row.key for row in view.rows] == ["again"]
    assert view.code.endswith("sweep.export(sweep.rows[3])")
    for change in ({"bounds": {"latency": 1.0}}, {"x": "latency"}, {"bounds": {"size": math.inf}}):
        with pytest.raises(NotFoundError):
            sweep_of().widget(**change)
    with pytest.raises(InvalidArgumentError, match=r"etlab\.sweep\(.* gives one"):
        etlab.SweepView("nothing")


def test_a_point_becomes_a_run(tmp_path):
    sweep = etlab.sweep(
        Mlp().eval(),
        torch.linspace(-1, 1, 15).reshape(3, 5),
        quantizers=["none", "int8-weights"],
        objectives=["size"],
        file=tmp_path / "s.parquet",
        workers=0,
    )
    view = sweep.widget()
    view._answer(None, {"type": "export", "id": 1, "row": "none, int8-weights"}, [])
    assert view.wait(120)
    assert view.problem == ""
    assert view.run.quantizer == "int8-weights"
    assert view.exported == repr(view.run)
    said = []
    view.send = lambda message: said.append(message)
    view._answer(None, {"type": "export", "id": 2, "row": "nothing"}, [])
    assert "no row 'nothing'" in said[0]["problem"]
    view.report = sweep_of()
    assert (view.run, view.exported) == (None, "")
    view.start(view.export)
    assert view.wait(60)
    assert "made without its model" in view.problem
