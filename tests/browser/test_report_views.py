"""The views of delegation, parity, sweeps and differences in a real browser."""

import pytest
from browser.pages import traits
from report_models import splitting_run

from etlab import display
from etlab.numerics import metric


def rows_of(page, caption):
    """The texts of a table's rows."""
    table = page.get_by_role("grid", name=caption)
    return [
        [cell.inner_text() for cell in row.locator("td").all()]
        for row in table.locator("tbody tr").all()
    ]


@pytest.fixture(scope="module")
def run():
    return splitting_run()


@pytest.fixture(scope="module")
def views(run):
    return {
        "delegation": run.delegation().widget,
        "parity": splitting_run(quantizer="int8").parity(paths=["quantized", "native"]).widget,
    }


@pytest.mark.parametrize("kind", ["delegation", "parity"])
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
