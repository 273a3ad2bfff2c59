"""The Workbench in JupyterLab, in a real browser: what a person clicks and sees."""

import json
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
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
def lab(tmp_path_factory):
    """URL of a JupyterLab that serves one notebook."""
    pytest.importorskip("jupyterlab", reason="needs the jupyterlab package")
    folder = tmp_path_factory.mktemp("lab")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, folder / "bench.ipynb")
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    news = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(news))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            "--IdentityProvider.token=",
            f"--ServerApp.root_dir={folder}",
            f"--LabApp.user_settings_dir={folder / 'settings'}",
            f"--LabApp.workspaces_dir={folder / 'workspaces'}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/api/status", server)
        yield f"{address}/lab/tree/bench.ipynb?reset"
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(url, server):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert server.poll() is None, "JupyterLab ended by itself"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"JupyterLab did not answer at {url}")


def test_choosing_a_quantizer_changes_the_numbers(chromium, foreign_requests, lab):
    page = chromium.new_page(viewport={"width": 1200, "height": 1500})
    page.set_default_timeout(SECONDS)
    foreign = foreign_requests(page)
    page.goto(lab)
    _run_first_cell(page)

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


def _run_first_cell(page):
    """Run it as soon as the kernel takes it: before, JupyterLab drops the request in silence."""
    prompt = page.locator(".jp-InputPrompt").first
    prompt.wait_for()
    for _ in range(60):
        page.locator(".jp-CodeCell .cm-content").first.click()
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(1000)
        if prompt.inner_text().strip() != "[ ]:":
            return
    raise AssertionError("the kernel took no cell")


def _native_row(page):
    table = page.locator("table:visible", has_text="SQNR (dB)").first
    return table.locator("tr", has=page.locator("td", has_text="native")).first
