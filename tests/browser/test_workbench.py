"""The Workbench in a real browser: what a person clicks and sees, in JupyterLab and Notebook 7."""

import importlib.util
from pathlib import Path

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
ENDLESS = """\
import torch
from torch import nn
import etlab
class Endless(nn.Module):
    def forward(self, x):
        while True:
            x = x + 1
etlab.Workbench(Endless(), torch.zeros(3))
"""


@pytest.fixture
def open_page(chromium, foreign_requests):
    """A function that opens a notebook; at the end it has asked no host but this machine."""
    pages, requests = [], []

    def opened(address):
        page = chromium.new_page(viewport={"width": 1200, "height": 1500})
        page.set_default_timeout(SECONDS)
        requests.append(foreign_requests(page))
        pages.append(page)
        page.goto(address)
        return page

    yield opened
    for page in pages:
        page.close()
    assert [one for found in requests for one in found] == []


def native_row(page):
    table = page.locator("table:visible", has_text="SQNR (dB)").first
    return table.locator("tr", has=page.locator("td", has_text="native")).first


def barriers(page, axe):
    """What axe finds in the bench that is serious: rule and element."""
    page.evaluate(axe.read_text())
    report = page.evaluate("axe.run('.jp-OutputArea-output', {resultTypes: ['violations']})")
    return [
        (one["id"], one["nodes"][0]["html"][:200])
        for one in report["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def wait_for_status(page, text):
    page.locator(".etlab-status:visible", has_text=text).wait_for()


@pytest.fixture(scope="module")
def lab(lab_of):
    """URL of a JupyterLab that serves one notebook."""
    return lab_of([CELL])


def test_choosing_a_quantizer_changes_the_numbers(open_page, lab, run_first_cell):
    page = open_page(lab)
    run_first_cell(page)

    page.get_by_role("button", name="Lower & run").click()
    native_row(page).wait_for()
    wait_for_status(page, "done")
    first = native_row(page).inner_text()
    page.locator("button:disabled", has_text="Stop").wait_for()
    page.locator(".etlab-gv[data-ready]:visible").wait_for()

    page.get_by_label("Quantizer").select_option("int8-weights")  # runs by itself
    wait_for_status(page, "quantizer int8-weights")
    second = native_row(page).inner_text()
    assert second != first
    assert "%" in second
    page.get_by_role("button", name="parameters (").last.click()
    page.get_by_label("min_elements").wait_for()

    page.get_by_role("tab", name="Delegation").click()
    page.get_by_label("Partitioner").select_option("reference")
    wait_for_status(page, "partitioner reference")
    page.locator(":text('ReferenceBackend'):visible").first.wait_for()
    page.get_by_role("tab", name="Memory").click()
    tab = page.locator(".widget-tab-contents")
    tab.locator("button:visible", has_text="copy as code").click()
    code = tab.locator("pre.etlab-view-code:visible")
    assert "quantizer='int8-weights'" in code.inner_text()
    assert "run.memory_plan()" in code.inner_text()
    rounds = page.locator("table:visible", has_text="rounds of this bench").locator("tbody tr")
    assert [row.split("\t")[0:3] for row in rounds.all_inner_texts()] == [
        ["1 (baseline)", "none", "none"],
        ["2", "none", "int8-weights"],
        ["3", "reference", "int8-weights"],
    ]
    assert "%)" in rounds.nth(1).inner_text()


def test_axe_finds_no_serious_barrier(open_page, lab, run_first_cell):
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("needs the package axe-playwright-python")
    page = open_page(lab)
    run_first_cell(page)
    page.get_by_role("button", name="Lower & run").click()
    page.locator(".etlab-gv[data-ready]:visible").wait_for()
    assert barriers(page, Path(spec.origin).parent / "axe.min.js") == []


def test_stop_ends_a_round_within_a_breath(open_page, lab_of, run_first_cell):
    page = open_page(lab_of([ENDLESS]))
    run_first_cell(page)
    page.get_by_role("button", name="Lower & run").click()
    wait_for_status(page, "export …")
    page.get_by_role("button", name="Stop").click()
    wait_for_status(page, "stopped")
    page.locator("button:enabled", has_text="Lower & run").wait_for()


def test_notebook_seven_shows_the_bench_and_keeps_its_picture(
    open_page, lab_of, run_first_cell, close_kernels
):
    pytest.importorskip("notebook", reason="needs the notebook package")
    address = lab_of([CELL + "bench.lower_and_run()\nbench"], application="notebook")
    page = open_page(address)
    run_first_cell(page)
    page.get_by_role("tab", name="Delegation").click()
    page.locator(":text('Delegation of toy'):visible, .etlab-view:visible").first.wait_for()
    assert page.locator("img[alt^='memory plan of toy']:visible").count() == 0
    page.keyboard.press("Control+s")
    page.wait_for_timeout(1500)
    close_kernels(page)
    page.goto("about:blank")
    page.goto(address)
    page.locator("img[alt^='memory plan of toy']").wait_for(state="visible")
    assert page.get_by_role("tab", name="Delegation").count() == 0
    assert "native" in native_row(page).inner_text()
