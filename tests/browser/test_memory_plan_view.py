"""MemoryPlanView in a real browser: seen, clicked, walked by keyboard."""

import dataclasses

import pytest
import torch
from browser.pages import traits
from torch import nn

import etlab


@pytest.fixture(scope="module")
def report():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU(), nn.Conv2d(5, 7, 3), nn.Flatten()).eval()
    return etlab.export(model, (torch.ones(1, 3, 11, 11),), name="toy").memory_plan()


def test_click_and_keyboard_walk_over_the_plan(open_view, report):
    page = open_view(report.widget())
    names = [tensor.name for tensor in report.plan.tensors]
    caption = page.locator(".etlab-view-grid caption").first
    assert f"alive at the peak, step {report.peak_step}" in caption.inner_text()
    page.get_by_role("row", name=report.at(report.peak_step)[0].name).first.click()
    assert traits(page, "selection") == [report.at(report.peak_step)[0].name]
    stage = page.locator(".etlab-view-stage")
    box = stage.bounding_box()
    stage.click(position={"x": 80, "y": box["height"] - 110})
    (first,) = traits(page, "selection")
    tensor = next(one for one in report.plan.tensors if one.name == first)
    assert (tensor.offset, tensor.first_use) == (0, 0)
    assert "step 0" in caption.inner_text()
    page.keyboard.press("ArrowRight")
    assert traits(page, "selection") != [first]
    assert traits(page, "selection")[0] in names
    page.keyboard.press("p")
    assert "alive at the peak" in caption.inner_text()
    page.keyboard.press(".")
    assert f"alive at step {report.peak_step + 1}" in caption.inner_text()
    stage.hover(position={"x": 80, "y": box["height"] - 110})
    assert first in page.locator(".etlab-view-hint").inner_text()
    page.get_by_label("colour by").select_option("dtype")
    assert "float32" in page.locator(".etlab-view-legend").inner_text()
    page.get_by_role("button", name="copy as code").click()
    assert "run.memory_plan()" in page.locator(".etlab-view-code").inner_text()
    page.get_by_label("planner", exact=True).select_option("naive")
    status = page.locator(".etlab-view-status", has_text="no kernel")
    status.wait_for()
    page.keyboard.press("Escape")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier_and_colours_follow_the_page(open_view, barriers, report, scheme):
    page = open_view(report.widget(), color_scheme=scheme)
    page.locator(".etlab-view-stage").focus()
    page.keyboard.press("?")
    assert barriers(page) == []
    corner = page.evaluate(
        "[...document.querySelector('canvas').getContext('2d').getImageData(1, 1, 1, 1).data]"
    )
    assert (max(corner[:3]) < 60) == (scheme == "dark")


def test_new_content_from_the_kernel_is_drawn_in_place(open_view, report):
    page = open_view(report.widget())
    page.get_by_label("colour by").select_option("lifetime")
    other = report.replanned("naive").widget().content
    page.evaluate(
        "peak => window.model.set('content', {...window.model.get('content'), peak})", other["peak"]
    )
    assert "%" in page.locator(".etlab-view-status").inner_text()
    assert page.get_by_label("colour by").input_value() == "lifetime"


def test_several_arenas_and_an_empty_plan_are_drawn(open_view, report):
    plan = report.plan
    moved = [
        dataclasses.replace(one, memory_id=1 + k % 2, offset=0 if k < 2 else one.offset)
        for k, one in enumerate(plan.tensors)
    ]
    sizes = {1: plan.peak, 2: plan.peak}
    both = dataclasses.replace(plan, tensors=tuple(moved), arena_sizes=sizes)
    page = open_view(dataclasses.replace(report, plan=both).widget())
    assert page.locator("canvas").is_visible()
    nothing = dataclasses.replace(plan, tensors=(), arena_sizes={}, steps=())
    page = open_view(dataclasses.replace(report, plan=nothing).widget())
    assert "0 tensors" in page.locator(".etlab-view-status").inner_text()


CELL = """\
import torch
import etlab
model = torch.nn.Sequential(torch.nn.Conv2d(3, 5, 3), torch.nn.ReLU()).eval()
run = etlab.export(model, (torch.ones(1, 3, 11, 11),), name="toy")
view = run.memory_plan().widget()
view
"""


def test_lab_plans_anew_in_the_kernel(chromium, foreign_requests, lab_of, run_first_cell):
    page = chromium.new_page(viewport={"width": 1400, "height": 1200})
    page.set_default_timeout(120_000)
    foreign = foreign_requests(page)
    page.goto(lab_of([CELL, "print('now', view.shown.plan.planner, view.code.count('naive'))"]))
    run_first_cell(page)
    page.locator(".etlab-memory[data-ready]").wait_for()
    page.get_by_role("button", name="compare planners").click()
    page.get_by_role("row", name="naive").click()
    page.locator(".etlab-view-status", has_text="against the program's plan").wait_for()
    page.locator(".jp-CodeCell .cm-content").nth(1).click()
    page.keyboard.press("Shift+Enter")
    page.locator(".jp-OutputArea", has_text="now naive 1").wait_for()
    assert foreign == []
    page.close()
