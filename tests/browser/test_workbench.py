"""The Workbench in JupyterLab, in a real browser: what a person clicks and sees."""

import pytest

SECONDS = 120_000  # milliseconds that a slow machine may take for one step

CELL = """\
import torch
from torch import nn
import etlab
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 32, 5), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 81, 7)).eval()
grid = torch.linspace(-1, 1, 13)
bench = etlab.Workbench(model, (grid[:, None] * grid[None]).expand(1, 3, 13, 13), name="toy")
bench
"""


@pytest.fixture(scope="module")
def lab(lab_of):
    """URL of a JupyterLab that serves one notebook."""
    return lab_of([CELL])


def test_choosing_a_quantizer_changes_the_numbers(chromium, foreign_requests, lab, run_first_cell):
    page = chromium.new_page(viewport={"width": 1200, "height": 1500})
    page.set_default_timeout(SECONDS)
    foreign = foreign_requests(page)
    page.goto(lab)
    run_first_cell(page)

    button = page.get_by_role("button", name="Lower & run")
    button.click()
    results = page.locator(".etlab-card:visible")
    _native_row(page).wait_for()
    first = _native_row(page).inner_text()
    assert page.locator('img[alt^="memory plan of toy"]:visible').count() == 1
    assert results.filter(has_text="Delegation of toy").count() == 1
    assert page.get_by_role("button", name="Stop").is_disabled()

    page.get_by_label("Quantizer").select_option("int8-weights")
    button.click()
    page.locator(".etlab-status:visible", has_text="quantizer int8-weights").wait_for()
    second = _native_row(page).inner_text()
    assert second != first
    assert "%" in second

    page.get_by_label("Partitioner").select_option("reference")
    button.click()
    page.locator(".etlab-status:visible", has_text="partitioner reference").wait_for()
    assert page.locator("td:visible", has_text="ReferenceBackend").count() >= 1
    rounds = page.locator("table:visible", has_text="rounds of this bench").locator("tbody tr")
    assert [row.split("\t")[1:3] for row in rounds.all_inner_texts()] == [
        ["none", "none"],
        ["none", "int8-weights"],
        ["reference", "int8-weights"],
    ]
    assert foreign == []
    page.close()


def _native_row(page):
    table = page.locator("table:visible", has_text="SQNR (dB)").first
    return table.locator("tr", has=page.locator("td", has_text="native")).first
