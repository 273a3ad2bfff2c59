import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.sweeping.objectives import find_objective
from etlab.sweeping.report import Sweep, SweepRow
from etlab.sweeping.store import read_rows, write_rows

FIGURES = {  # quantizer: sqnr_db, size
    "none": (math.inf, 4000),
    "fp16": (60.0, 2000),
    "bf16": (40.0, 2000),
    "int8": (40.0, 1000),
    "twin": (40.0, 1000),
    "nan": (math.nan, 10),
    "unknown": (None, 10),
}


def _values(name):
    return dict(zip(("sqnr_db", "size"), FIGURES[name], strict=True))


def _sweep(names=tuple(FIGURES)):
    rows = [SweepRow(name, "none", name, "ok", "", 1.0, _values(name)) for name in names]
    rows.append(SweepRow("broken", "<b>", "8da4w", "failed", "no kernel for <x>"))
    objectives = (find_objective("sqnr_db"), find_objective("size"))
    return Sweep("Mlp", objectives, tuple(rows), "1 sample", Path("s.parquet"), ("a note",))


def test_the_front_holds_what_no_other_row_beats_and_both_of_two_equal_ones():
    assert [row.key for row in _sweep().pareto.rows] == ["none", "fp16", "int8", "twin"]


def test_best_is_the_first_objective_within_bounds_and_ties_go_to_the_others():
    sweep = _sweep()
    assert sweep.best().key == "none"
    assert sweep.best("size<4kB").key == "fp16"
    assert sweep.best("size<=2000 and sqnr_db<=40").key == "int8"
    assert sweep.best("sqnr_db>=50", by="size").key == "fp16"


def test_best_without_any_row_within_bounds_says_what_comes_nearest():
    with pytest.raises(NotFoundError, match=r"keeps size<5; best are size 10 B"):
        _sweep().best("size<5")
    with pytest.raises(NotFoundError, match="see the reasons"):
        _sweep(()).best()
    with pytest.raises(NotFoundError, match="'latency'"):
        _sweep().best(by="latency")


def test_the_table_has_whole_bytes_and_the_reason_of_what_failed():
    frame = _sweep().to_dataframe()
    assert list(frame.columns) == [
        "partitioner",
        "quantizer",
        "sqnr_db",
        "size",
        "status",
        "reason",
    ]
    assert str(frame["size"].dtype) == "Int64"
    assert frame["size"][0] == 4000
    assert frame["reason"].iloc[-1] == "no kernel for <x>"


def test_text_and_html_show_every_row_the_note_and_nothing_unescaped():
    sweep = _sweep()
    for name in FIGURES:
        assert name in repr(sweep)
    assert "7 ok, 1 failed" in repr(sweep)
    html = sweep._repr_html_()
    assert html == _sweep()._repr_html_()
    assert "a note" in html
    assert "no kernel for &lt;x&gt;" in html
    assert "<b>&lt;" not in html
    assert "<x>" not in html


def test_the_picture_marks_the_front_and_keeps_infinite_values_inside():
    root = ElementTree.fromstring(_sweep().to_svg())
    circles = [one for one in root.iter() if one.tag.endswith("circle")]
    full = [one for one in circles if one.get("fill") != "#fff"]
    assert (len(circles), len(full)) == (5, 4)
    for one in circles:
        assert 0 < float(one.get("cx")) < 640
        assert 0 < float(one.get("cy")) < 320
    assert _sweep(()).to_svg() == ""


def test_rows_come_back_from_the_file_as_they_were(tmp_path):
    path = tmp_path / "deep" / "results.parquet"
    assert read_rows(path) == {}
    rows = _sweep(("none", "unknown")).rows
    write_rows(path, "Mlp", rows[:1])
    write_rows(path, "Other", rows[1:])
    found = read_rows(path)
    assert list(found) == ["none", "unknown", "broken"]
    assert [model for model, _ in found.values()] == ["Mlp", "Other", "Other"]
    assert found["none"][1].values == rows[0].values
    assert found["broken"][1].reason == "no kernel for <x>"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    for use in (lambda: read_rows(path), lambda: write_rows(path, "Mlp", _sweep().rows)):
        with pytest.raises(InvalidArgumentError, match="holds no results of a sweep"):
            use()
    assert path.read_text() == "hello"


def test_a_parquet_file_of_other_columns_is_refused(tmp_path):
    path = tmp_path / "other.parquet"
    _sweep().to_dataframe().to_parquet(path)
    with pytest.raises(InvalidArgumentError, match="holds no results of a sweep"):
        read_rows(path)
