"""The views of delegation, parity, sweeps and differences in a real browser."""

from pathlib import Path

import pytest
from browser.pages import traits
from report_models import splitting_run

import etlab
from etlab import display
from etlab.numerics import metric
from etlab.sweeping import Sweep, SweepRow
from etlab.sweeping.objectives import find_objective


def rows_of(page, caption):
    """The texts of a table's rows."""
    table = page.get_by_role("grid", name=caption)
    return [
        [cell.inner_text() for cell in row.locator("td").all()]
        for row in table.locator("tbody tr").all()
    ]


def sweep_of():
    """Five configurations by three objectives; one failed."""
    figures = {
        "none": (120.0, 4000.0, 3.0),
        "fp16": (60.0, 2000.0, 4.0),
        "int8": (40.0, 1000.0, 1.0),
        "slow": (40.0, 1000.0, 9.0),
    }
    names = ("sqnr_db", "size", "latency")
    rows = [
        SweepRow(name, "none", name, "ok", "", 1.0, dict(zip(names, values, strict=True)))
        for name, values in figures.items()
    ]
    rows.append(SweepRow("broken", "none", "8da4w", "failed", "no kernel for it"))
    objectives = tuple(map(find_objective, names))
    return Sweep("Mlp", objectives, tuple(rows), "1 sample", Path("s.parquet"))


@pytest.fixture(scope="module")
def run():
    return splitting_run()


@pytest.fixture(scope="module")
def views(run):
    return {
        "delegation": run.delegation().widget,
        "sweep": sweep_of().widget,
        "diff": etlab.diff(splitting_run(partitioner=None), run).widget,
        "parity": splitting_run(quantizer="int8").parity(paths=["quantized", "native"]).widget,
    }


@pytest.mark.parametrize("kind", ["delegation", "parity", "sweep", "diff"])
def test_axe_finds_no_barrier_in_either_theme(open_view, barriers, views, kind):
    for theme in ("light", "dark"):
        page = open_view(views[kind](theme=theme))
        dark = page.locator(".etlab-view").evaluate("e => getComputedStyle(e).backgroundColor")
        assert (dark == "rgb(21, 24, 28)") == (theme == "dark")
        page.keyboard.press("Tab")
        assert barriers(page) == []


def test_reasons_and_bars_select_calls_and_say_what_the_table_says(open_view, run):
    report = run.delegation()
    page = open_view(report.widget())
    stayed = report.to_dataframe().query("not delegated")
    own = f"calls: own kernels {report.shares['calls']['own kernels']:.1%}"
    page.get_by_role("button", name=own).click()
    assert traits(page, "selection") == list(stayed.node)
    calls = rows_of(page, "Calls")
    assert [row[0] for row in calls] == list(stayed.node)
    assert [row[4] for row in calls] == list(stayed.reason)
    assert [row[5] for row in calls] == [display.format_bytes(n) for n in stayed.nbytes]
    assert page.get_by_role("button", name=own).get_attribute("aria-pressed") == "true"
    page.get_by_role("grid", name="Calls").locator("tbody tr").nth(1).click()
    assert traits(page, "selection") == [stayed.node.iloc[1]]
    assert len(rows_of(page, "Calls")) == len(stayed)


def test_delegates_are_chosen_by_keyboard_alone(open_view, run):
    report = run.delegation()
    page = open_view(report.widget())
    page.get_by_role("tab", name="Reasons").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", name="Delegates").get_attribute("aria-selected") == "true"
    page.keyboard.press("Tab")
    for _ in range(7):  # the buttons that sort
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert traits(page, "selection") == list(report.parts[1].nodes)
    page.evaluate("window.model.set('selection', ['erf_default'])")
    page.evaluate("window.model.set('selection', [])")
    assert page.locator(".etlab-view-status").inner_text() == "nothing selected"


def test_layers_are_walked_sorted_and_marked_and_their_tensors_shown(open_view, views):
    view = views["parity"]()
    page = open_view(view)
    frame = view.report.layers.to_dataframe().query("path == 'native'")
    rows = rows_of(page, "Layers")
    label = metric("sqnr_db")
    said = [label.format(float(value)) for value in frame.sqnr_db.dropna()]
    assert [row[5] for row in rows if row[5]] == said
    page.get_by_label("Depth plot").focus()
    page.keyboard.press("End")
    assert traits(page, "selection") == ["softmax"]
    page.keyboard.press("ArrowLeft")
    assert traits(page, "selection") == ["linear"]
    assert page.locator(".etlab-parity-keep").inner_text() == "would stay in float: head"
    page.keyboard.press("w")
    worst = [row.operator for row in view.report.worst(3, path="native").rows]
    assert traits(page, "selection") == worst
    page.evaluate(f"window.model.set('selection', ['{worst[0]}'])")
    tensors = page.get_by_role("region", name="Tensors")
    tensors.get_by_role("img").first.wait_for()
    assert f"{worst[0]}: native" in tensors.inner_text()
    page.get_by_role("button", name="keep in float").click()
    page.get_by_role("alert").wait_for()
    assert "no kernel" in page.get_by_role("alert").inner_text()
    page.get_by_label("stage").select_option("quantized")
    assert traits(page, "path") == "quantized"
    page.get_by_role("button", name="SQNR (dB)", exact=True).click()
    assert page.get_by_role("columnheader", name="SQNR (dB)", exact=True).get_attribute("aria-sort")


def test_points_are_picked_and_bounds_move_the_best_as_python_has_it(open_view):
    sweep = sweep_of()
    page = open_view(sweep.widget())
    label = "none, fp16: sqnr_db 60.0, size 2.0 KiB, latency 4.000 ms, ok, front"
    page.get_by_role("button", name=label).focus()
    page.keyboard.press("Enter")
    assert traits(page, "selection") == ["none, fp16"]
    page.get_by_role("slider", name="size").focus()
    page.keyboard.press("ArrowRight")
    assert traits(page, "bounds") == {"size": 2000}
    page.get_by_role("button", name="best", exact=True).click()
    assert traits(page, "selection") == [f"none, {sweep.best('size<=2000').quantizer}"]
    frame = sweep.to_dataframe()
    marks = [row[6] for row in rows_of(page, "Configurations")]
    assert marks == ["broken", "best", "kept", "kept", ""]
    assert [row[2] for row in rows_of(page, "Configurations")[:4]] == [
        metric("sqnr_db").format(value) for value in frame.sqnr_db[:4]
    ]
    page.get_by_label("best by").select_option("latency")
    page.get_by_role("button", name="best", exact=True).click()
    assert traits(page, "selection") == ["none, int8"]
    page.get_by_role("tab", name="Without result (1)").click()
    assert rows_of(page, "Without result") == [["none", "8da4w", "failed", "no kernel for it"]]


def test_differences_are_found_walked_and_shown_in_full(open_view, views):
    view = views["diff"]()
    frame = view.report.to_dataframe()
    page = open_view(view)
    assert [row[2] for row in rows_of(page, "Differences")] == [
        display.shorten(what, 44) for what in frame.what
    ]
    figure = next(row for row in view.report.figures if row.what == "constant")
    name = f"bytes: constant {figure.before:,} → {figure.after:,}"
    page.get_by_role("button", name=name).click()
    assert traits(page, "selection") == ["bytes//constant"]
    full = page.get_by_role("region", name="Selected differences")
    assert f"- {figure.before:,}" in full.inner_text()
    page.keyboard.press("/")
    page.keyboard.type("RELU")
    page.keyboard.press("Enter")
    assert page.locator(".etlab-view-found").inner_text() == f"2 of {len(frame)}"
    assert traits(page, "selection")[0].startswith("graph/forward/instruction")
    page.keyboard.press("Escape")
    page.get_by_label("section").select_option("operators")
    assert {row[0] for row in rows_of(page, "Differences")} == {"operators"}
