"""The views of delegation, parity, sweeps and differences in a real browser."""

import html
import json
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
        [cell.text_content() for cell in row.locator("td").all()]
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
        first = {"delegation": "erf_default", "parity": "linear", "sweep": "none, int8"}
        name = first.get(kind) or page.evaluate("window.model.get('content').rows[0][0]")
        page.evaluate("name => window.model.set('selection', [name])", name)
        page.get_by_role("button", name="copy as code").click()
        page.keyboard.press("?")
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


def agreeing(kind, report):
    """Of a view's table: caption, column, the DataFrame's numbers, and how they are written."""
    frame = report.to_dataframe()
    sqnr = metric("sqnr_db").format
    if kind == "parity":
        return "Outputs", 2, list(frame.sqnr_db)[1:], sqnr, "sqnr_db"
    if kind == "sweep":
        return "Configurations", 3, list(frame["size"])[:4], display.format_bytes, "size"
    if kind == "delegation":
        return "Calls", 5, list(frame.nbytes), display.format_bytes, "nbytes"
    return "Differences", 3, list(frame.before), lambda text: text, "before"


@pytest.mark.parametrize("kind", ["delegation", "parity", "sweep", "diff"])
def test_widget_table_snapshot_and_report_say_the_same(open_view, views, kind, tmp_path):
    view = views[kind]()
    caption, column, values, write, name = agreeing(kind, view.report)
    page = open_view(view)
    if kind == "parity":
        page.get_by_role("tab", name=caption).click()
    texts = [write(value) for value in values]
    rows = rows_of(page, caption)
    cells = [row[column] for row in rows if row[column]][: len(values)]
    assert [text for text in texts if text and len(text) < 100] == [
        cell for cell in cells if len(cell) < 100
    ]
    written = etlab.report(view, tmp_path / "page.html").read_text()
    (result,) = json.loads((tmp_path / "page.json").read_text())["results"]
    told = [row[result["table"]["columns"].index(name)] for row in result["table"]["rows"]]
    assert [value for value in told if value is not None][-len(values) :] == values
    snapshot = view._snapshot_html()
    assert snapshot in written
    for text in texts:
        if kind != "delegation" and len(text) < 100:  # its card sums the calls by reason
            assert f">{html.escape(text)}<" in snapshot
    if kind == "delegation":
        for group in view.report.reasons:
            assert f"{group.calls} x {group.operators}, {write(group.nbytes)}" in snapshot


CELL = """\
import torch
from torch import nn
import etlab
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).eval()
samples = [(torch.linspace(-1, 1 + k, 15).reshape(3, 5),) for k in range(2)]
run = etlab.export(model, samples[0], quantizer="int8", calibration=samples, name="toy")
view = run.parity(paths=["quantized", "native"]).widget()
view
"""


def test_in_lab_a_layer_is_kept_in_float_and_everything_runs_again(
    chromium, foreign_requests, lab_of, run_first_cell
):
    page = chromium.new_page(viewport={"width": 1400, "height": 1200})
    page.set_default_timeout(120_000)
    foreign = foreign_requests(page)
    page.goto(lab_of([CELL]))
    run_first_cell(page)
    page.locator(".etlab-view[data-ready]").wait_for()
    page.get_by_label("Depth plot").focus()
    page.keyboard.press("End")
    page.get_by_text("would stay in float: 2", exact=True).wait_for()
    page.get_by_role("region", name="Tensors").get_by_role("img").first.wait_for()
    page.keyboard.press("k")
    page.get_by_role("tab", name="Rounds").click()
    page.get_by_role("grid", name="Rounds").locator("tbody tr").nth(1).wait_for()
    first, second = rows_of(page, "Rounds")
    assert (first[2], second[2]) == ("", "2")
    assert first[4] != second[4]
    page.get_by_role("button", name="copy as code").click()
    assert "run.again(keep_float=['2'])" in page.get_by_role("region", name="Code").inner_text()
    assert foreign == []
    page.close()
