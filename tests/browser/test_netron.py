"""Netron's view of a program: drawn, with no request and no question asked."""

import importlib.util

import pytest
import torch
from torch import nn

import etlab


def test_program_is_drawn_without_a_request(chromium, foreign_requests, tmp_path):
    if importlib.util.find_spec("netron") is None:
        pytest.skip("needs the netron package")
    model = nn.Sequential(nn.Conv2d(3, 5, 3), nn.Hardtanh(), nn.Flatten(), nn.Linear(45, 7)).eval()
    run = etlab.export(model, (torch.linspace(-1, 1, 75).reshape(1, 3, 5, 5),), name="toy")
    page_file = tmp_path / "view.html"
    page_file.write_text(f"<html><body>{run.netron()._repr_html_()}</body></html>")
    page = chromium.new_page(viewport={"width": 900, "height": 600})
    foreign = foreign_requests(page)
    problems = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(page_file.as_uri())
    frame = page.frame_locator("iframe.etlab-netron")
    frame.locator("body[data-etlab=ready]").wait_for(state="attached", timeout=60_000)
    text = frame.locator("svg#canvas").text_content()
    for name in ("convolution", "hardtanh", "linear"):
        assert name in text
    assert frame.locator("#message-button").is_hidden()
    assert (foreign, problems) == ([], [])
    page.close()
