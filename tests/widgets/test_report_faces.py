"""What every view of a report shows without a kernel: one line, a table, a picture."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from report_models import splitting_run

import etlab
from etlab.sweeping import Sweep, SweepRow
from etlab.sweeping.objectives import find_objective


@pytest.fixture(scope="module")
def run():
    return splitting_run()


def sweep():
    rows = [
        SweepRow(name, "none", name, "ok", values={"sqnr_db": sqnr, "size": size})
        for name, sqnr, size in (("none", 90.0, 4000.0), ("int8", 40.0, 1000.0))
    ]
    objectives = (find_objective("sqnr_db"), find_objective("size"))
    return Sweep("toy", objectives, tuple(rows), "1 sample", Path("s.parquet"))


REPORTS = {
    "DelegationView": lambda run: run.delegation(),
    "ParityView": lambda run: run.parity(paths=["native"]),
    "DiffView": lambda run: etlab.diff(splitting_run(partitioner=None), run),
    "SweepView": lambda _: sweep(),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_saved_view_is_one_line_a_table_and_a_picture_the_same_every_time(run, name):
    faces = []
    for _ in range(2):
        view = REPORTS[name](run).widget()
        assert type(view).__name__ == name
        faces.append((repr(view), view._snapshot_html(), view.to_svg(), view.to_html()))
    assert faces[0] == faces[1]
    line, snapshot, svg, _ = faces[0]
    assert line.startswith(f"{name}(")
    assert "\n" not in line
    assert "<table" in snapshot
    assert "data:image/svg+xml;base64," in snapshot
    assert len(snapshot) < 150_000
    assert ElementTree.fromstring(svg).tag.endswith("svg")
