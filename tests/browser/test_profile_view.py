"""ProfileView in a real browser: clicked, walked by keyboard, read as a table."""

import pytest
import torch
from browser.pages import traits
from torch import nn

import etlab


@pytest.fixture(scope="module")
def report():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3), nn.LogSoftmax(1)).eval()
    run = etlab.export(model, (torch.randn(2, 5),), partitioner="xnnpack", name="net")
    return run.profile(runs=3, warmup=1, threads=1)


def test_table_timeline_and_keyboard_select_the_same_rows(open_view, report):
    page = open_view(report.widget(by="operator", baseline=report))
    rows = page.locator(".etlab-view-grid tbody tr")
    groups = report.by_operator
    assert [row.locator("td").first.inner_text() for row in rows.all()] == [g.name for g in groups]
    cells = [cell.inner_text() for cell in rows.first.locator("td").all()]
    assert cells[2:5] == [
        f"{groups[0].p50_ms:.4f}",
        f"{groups[0].p90_ms:.4f}",
        f"{groups[0].share:.1%}",
    ]
    assert cells[-1] == "0.0%"
    rows.first.click()
    named = {row.node for row in report.leaves if row.operator == groups[0].name}
    assert set(traits(page, "selection")) == named
    stage = page.locator(".etlab-view-stage")
    stage.focus()
    page.evaluate("window.model.set('selection', [])")
    assert "end to end p50" in page.locator(".etlab-view-status").inner_text()
    page.keyboard.press("ArrowRight")
    assert traits(page, "selection") == [report.instructions[0].node]
    call = next(row for row in report.rows if row.kind == "delegate")
    page.evaluate(f"window.model.set('selection', ['{call.node}'])")
    page.keyboard.press("ArrowDown")
    inner = next(row for row in report.rows if row.part == call.node)
    assert traits(page, "selection") == [inner.node]
    page.keyboard.press("ArrowUp")
    assert traits(page, "selection") == [call.node]
    page.keyboard.press("t")
    dots = page.locator("circle[role=button]")
    assert dots.count() == sum(1 for row in report.leaves if row.flops and row.nbytes)
    dots.first.press("Enter")
    assert traits(page, "selection")[0] in {row.node for row in report.leaves if row.flops}
    box = stage.bounding_box()
    stage.click(position={"x": box["width"] / 2, "y": 35})
    assert traits(page, "selection")[0] in {row.node for row in report.instructions}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier(open_view, barriers, report, scheme):
    page = open_view(report.widget(), color_scheme=scheme)
    page.get_by_label("chart").select_option("roofline")
    page.locator(".etlab-view-stage").focus()
    page.keyboard.press("?")
    assert barriers(page) == []
