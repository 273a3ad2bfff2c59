"""The page of `etlab.report` in a real browser: it opens from a file, and its live view works."""

import json

import torch
from torch import nn

import etlab


def test_page_unfolds_its_live_views_without_a_request(chromium, foreign_requests, tmp_path):
    model = nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Tanh()).eval()
    run = etlab.export(model, torch.zeros(2, 5), partitioner="xnnpack", name="toy")
    path = etlab.report([run.graph(), run.memory_plan()], tmp_path / "toy.html")
    page = chromium.new_page(viewport={"width": 1200, "height": 900})
    page.set_default_timeout(60_000)
    foreign, problems = foreign_requests(page), []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    assert page.locator("img[alt='graph of toy, delegated']").is_visible()
    page.locator("summary", has_text="live view: Graph").click()
    frame = page.frame_locator("iframe").first
    frame.locator(".etlab-gv[data-ready]").wait_for()
    frame.get_by_role("treeitem", name="tanh").first.click()
    assert "tanh" in frame.locator(".etlab-gv-facts").inner_text()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the numbers").click()
    numbers = json.loads(saved.value.path().read_text())
    assert numbers == json.loads((tmp_path / "toy.json").read_text())
    assert (foreign, problems) == ([], [])
    page.close()
