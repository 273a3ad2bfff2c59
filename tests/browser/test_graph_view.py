"""GraphView in a real browser: seen, clicked, typed at, and reopened without a kernel."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from browser.pages import traits
from torch import nn

import etlab

SECONDS = 120_000  # milliseconds that a slow machine may take for one step

CELL = """\
import torch
from torch import nn
import etlab
torch.manual_seed(0)
block = lambda: nn.Sequential(nn.Conv2d(5, 5, 3, padding=1), nn.ReLU())
model = nn.Sequential(nn.Conv2d(3, 5, 3), block(), block(), nn.Hardtanh(), nn.Flatten()).eval()
run = etlab.export(model, torch.linspace(-1, 1, 147).reshape(1, 3, 7, 7), name="toy")
view = run.graph("aten").widget()
view
"""


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.act = nn.Conv2d(5, 5, 3, padding=1), nn.ReLU()

    def forward(self, x):
        return self.act(self.conv(x)) + x


@pytest.fixture(scope="module")
def graph():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 5, 3), *[Block() for _ in range(3)], nn.Flatten(), nn.Linear(125, 4)
    )
    inputs = (torch.linspace(-1, 1, 147).reshape(1, 3, 7, 7),)
    return etlab.export(model.eval(), inputs, partitioner="xnnpack", name="toy").graph("aten")


def box_on_screen(page, name):
    """The middle of a drawn node or group, in pixels of the window."""
    return page.evaluate(
        """(name) => {
          const { pane } = document.querySelector('.etlab-gv');
          const { graph } = pane.tree;
          const node = graph.names.indexOf(name);
          const item = node >= 0 ? node : graph.count + graph.groupNames.indexOf(name);
          const at = pane.scene.items.indexOf(item) * 4;
          const [x, y, w, h] = pane.scene.boxes.slice(at, at + 4);
          const { left, top } = pane.canvas.getBoundingClientRect();
          const { x: dx, y: dy, scale } = pane.camera;
          return [left + (x + w / 2 - dx) * scale, top + (y + h / 2 - dy) * scale];
        }""",
        name,
    )


def test_click_selects_and_double_click_opens(open_view, wait_until, graph):
    page = open_view(graph.widget(opened=[]))
    page.mouse.click(*box_on_screen(page, "linear"))
    assert traits(page, "selection") == ["linear"]
    facts = page.locator(".etlab-gv-facts")
    assert re.search(r"operator\s*linear", facts.inner_text())
    assert re.search(r"arguments\s*flatten", facts.inner_text())
    fold = next(group.name for group in graph.groups if group.kind == "fold")
    page.mouse.dblclick(*box_on_screen(page, fold))
    wait_until(page, f"window.model.get('opened').includes('{fold}')")
    assert page.locator('[role=treeitem][aria-level="2"]').count() == 3


def test_keyboard_alone_walks_opens_and_selects(open_view, graph):
    page = open_view(graph.widget(opened=[]))
    tree = page.get_by_role("tree")
    tree.focus()
    page.keyboard.press("ArrowDown")
    assert traits(page, "selection") == ["conv2d"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    active = tree.get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowRight")
    row = page.locator(f"#{tree.get_attribute('aria-activedescendant')}")
    assert row.get_attribute("aria-level") == "2"
    assert row.get_attribute("aria-posinset") == "1"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert traits(page, "opened") == []
    page.keyboard.press("/")
    page.keyboard.type("op:conv")
    assert page.locator(".etlab-view-found").inner_text() == "4 found"
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    assert traits(page, "selection") == ["conv2d"]
    page.keyboard.press("Alt+ArrowUp")
    assert traits(page, "selection") == ["input"]
    page.keyboard.press("?")
    assert page.get_by_role("region", name="Help").is_visible()
    page.keyboard.press("Escape")
    assert page.get_by_role("region", name="Help").is_hidden()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement === document.body")


def test_selection_set_from_outside_is_opened_and_shown(open_view, wait_until, graph):
    page = open_view(graph.widget(opened=[]))
    page.evaluate("window.model.set('selection', ['relu_1'])")
    wait_until(page, "window.model.get('opened').length === 2")
    x, y = box_on_screen(page, "relu_1")
    stage = page.locator(".etlab-gv-stage").bounding_box()
    assert stage["x"] < x < stage["x"] + stage["width"]
    assert stage["y"] < y < stage["y"] + stage["height"]
    assert "relu_1" in page.locator(".etlab-view-status").inner_text()


def test_path_code_and_minimap_follow_the_view(open_view, graph):
    page = open_view(graph.widget(opened="all"))
    page.evaluate("window.model.set('selection', ['conv2d_1'])")
    path = page.get_by_role("navigation", name="Path")
    steps = path.get_by_role("button")
    fold = steps.first.inner_text()
    steps.first.click()
    assert traits(page, "selection") != ["conv2d_1"]
    assert steps.last.inner_text() == fold
    small = page.locator(".etlab-gv-map")
    page.evaluate("document.querySelector('.etlab-gv').pane.zoom(3, 300, 200)")
    page.evaluate("document.querySelector('.etlab-gv').pane.draw()")
    assert small.is_visible()
    box = small.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 3)
    low = page.evaluate("document.querySelector('.etlab-gv').pane.camera.y")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 3)
    assert page.evaluate("document.querySelector('.etlab-gv').pane.camera.y") < low
    page.keyboard.press("f")
    page.evaluate("document.querySelector('.etlab-gv').pane.draw()")
    assert small.is_hidden()
    page.get_by_role("button", name="Copy as code").click()
    assert "run.graph('aten').widget(" in page.locator(".etlab-view-code").inner_text()


def test_wrong_query_is_answered_in_words(open_view, graph):
    page = open_view(graph.widget())
    page.get_by_label("Find nodes").fill("bytes>many")
    assert "is no number" in page.locator(".etlab-view-found").inner_text()
    assert page.get_by_label("Find nodes").get_attribute("aria-invalid") == "true"


def test_colouring_follows_the_picker_and_overlays(open_view, graph):
    view = graph.widget(opened=[])
    view.overlay({"linear": 0.25, "conv2d_1": 0.5}, name="latency", unit="s")
    page = open_view(view)
    legend = page.locator(".etlab-view-legend")
    assert "500 ms" in legend.inner_text()
    page.get_by_label("Colour by").select_option("dtype")
    assert "float32" in legend.inner_text()
    assert traits(page, "color_by") == "dtype"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_view_follows_the_theme_of_the_page(open_view, graph, scheme):
    page = open_view(graph.widget(), color_scheme=scheme)
    is_dark = page.locator(".etlab-gv").evaluate("e => e.classList.contains('etlab-view-dark')")
    assert is_dark == (scheme == "dark")
    corner = page.evaluate(
        "[...document.querySelector('canvas').getContext('2d').getImageData(1, 1, 1, 1).data]"
    )
    assert (max(corner[:3]) < 60) == (scheme == "dark")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["graph", "comparison"])
def test_axe_finds_no_barrier(open_view, barriers, graph, kind, scheme):
    view = graph.widget() if kind == "graph" else etlab.compare(graph, graph).widget()
    page = open_view(view, color_scheme=scheme)
    if kind == "graph":
        page.get_by_role("treeitem").nth(2).click()
        page.keyboard.press("?")
    assert barriers(page) == []


def test_canvas_grows_with_the_window(open_view, wait_until, graph):
    page = open_view(graph.widget())
    before = page.locator(".etlab-gv-canvas").evaluate("e => e.width")
    page.set_viewport_size({"width": 900, "height": 600})
    wait_until(page, f"document.querySelector('canvas').width < {before}")


def test_lab_shows_the_view_and_the_kernel_hears_of_it(
    chromium, foreign_requests, lab_of, run_first_cell, close_kernels
):
    page = chromium.new_page(viewport={"width": 1400, "height": 1200})
    page.set_default_timeout(SECONDS)
    foreign = foreign_requests(page)
    cells = [CELL, "print('selected', view.selection)"]
    address = lab_of(cells)
    page.goto(address)
    run_first_cell(page)
    page.locator(".etlab-gv[data-ready]").wait_for()
    page.locator("img[alt='graph of toy, aten']").wait_for(state="hidden")
    page.locator(".etlab-gv").get_by_role("treeitem", name="hardtanh").first.click()
    page.locator(".etlab-gv-facts", has_text="arguments").wait_for()
    term, fact = [
        page.locator(f".etlab-gv-facts {one}").first.bounding_box() for one in ("dt", "dd")
    ]
    assert term["y"] == fact["y"]  # side by side, whatever JupyterLab says of lists
    assert term["x"] + term["width"] < fact["x"]
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the picture as PNG").click()
    here: dict[str, Any] = {}
    exec(CELL, here)
    assert Path(saved.value.path()).read_bytes() == here["view"].to_png()
    page.locator(".jp-CodeCell .cm-content").nth(1).click()
    page.keyboard.press("Shift+Enter")
    page.locator(".jp-OutputArea", has_text="selected ['hardtanh']").wait_for()
    page.keyboard.press("Control+s")
    page.wait_for_timeout(1500)
    folder = page.evaluate(
        "async () => (await (await fetch('/api/contents/bench.ipynb')).json()).content"
    )
    outputs = nbformat.from_dict(folder).cells[0].outputs
    assert [sorted(output.data) for output in outputs] == [
        ["text/html", "text/plain"],
        ["application/vnd.jupyter.widget-view+json", "text/plain"],
    ]
    assert "data:image/svg+xml;base64," in outputs[0].data["text/html"]
    close_kernels(page)
    page.goto("about:blank")
    page.goto(address)
    page.locator("img[alt='graph of toy, aten']").wait_for(state="visible")
    assert page.locator(".etlab-gv").count() == 0
    assert foreign == []
    page.close()


def test_panes_show_together_what_belongs_together(open_view):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 5, 3), *[Block() for _ in range(3)], nn.Dropout(), nn.Tanh())
    inputs = (torch.linspace(-1, 1, 147).reshape(1, 3, 7, 7),)
    run = etlab.export(model.eval(), inputs, partitioner="xnnpack", name="toy")
    page = open_view(etlab.compare(run).widget())
    page.get_by_label("Drawing of toy, aten").focus()
    page.keyboard.press("n")
    assert traits(page, "selection") == [["dropout"], [], []]
    assert "removed" in page.locator(".etlab-view-status").inner_text()
    page.evaluate("window.model.set('selection', [['tanh'], [], []])")
    assert traits(page, "selection") == [["tanh"], ["tanh_default"], ["tanh_default"]]
    facts = page.locator(".etlab-cv-facts").inner_text()
    assert facts.count("tanh_default") == 2
    page.get_by_label("Find nodes in all graphs").fill("op:conv")
    assert page.locator(".etlab-view-found").inner_text() == "4 | 4 | 4 found"
    shown = """k => {
      const { pane, host } = document.querySelector('.etlab-gv').sides[k];
      const [node] = [pane.tree.graph.names.findIndex((name) => name.startsWith('tanh'))];
      const at = pane.scene.items.indexOf(node) * 4;
      const y = (pane.scene.boxes[at + 1] - pane.camera.y) * pane.camera.scale;
      return y >= 0 && y < host.clientHeight;
    }"""
    assert page.evaluate(shown, 1)
    scales = "document.querySelector('.etlab-gv').sides.map(({ pane }) => pane.camera.scale)"
    page.get_by_label("Drawing of toy, aten").focus()
    page.keyboard.press("+")
    first, *others = page.evaluate(scales)
    assert others == [first, first]


def test_the_picture_in_sight_is_saved_without_a_kernel(open_view, graph):
    page = open_view(graph.widget())
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the picture as PNG").click()
    assert saved.value.suggested_filename == "graph.png"
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")
    page.locator(".etlab-gv-stage").focus()
    with page.expect_download():
        page.keyboard.press("p")
