"""Takes the README's pictures of the workbench: JupyterLab in Chromium, light and dark.

python tools/screenshots.py    # needs chromium and the packages of requirements-dev.txt
"""

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import nbformat
from PIL import Image
from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parents[1] / "docs"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
CELL = """\
import etlab
from etlab.models import efficientnet_lite0, photographs

model = efficientnet_lite0.load()
crops = [(crop[None],) for crop in photographs.crops(8)]
bench = etlab.Workbench(model, crops[0], calibration=crops, partitioner="xnnpack", name="lite0")
bench
"""
SECONDS = 180_000  # milliseconds that one step may take
SIZE = {"width": 1240, "height": 2000}
COLOURS = 96  # of the palette: text and flat colours need no more


def main() -> None:
    """One picture a theme."""
    for name, theme in THEMES.items():
        with tempfile.TemporaryDirectory() as folder:
            address, server = _serve(Path(folder), theme)
            try:
                _take(address, DOCS / f"workbench-{name}.png")
            finally:
                server.terminate()
                server.wait(60)


def _serve(folder: Path, theme: str) -> tuple[str, "subprocess.Popen[bytes]"]:
    """A JupyterLab on a notebook with one cell."""
    notebook: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, folder / "bench.ipynb")
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
    news = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(news))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "IdentityProvider.token": "",
        "ServerApp.root_dir": folder,
        "LabApp.user_settings_dir": folder / "settings",
        "LabApp.workspaces_dir": folder / "workspaces",
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"--{key}={value}" for key, value in options.items()]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(400):
        try:
            urllib.request.urlopen(f"{address}/api/status", timeout=5).close()
            break
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    return f"{address}/lab/tree/bench.ipynb?reset", server


def _take(address: str, place: Path) -> None:
    """Two rounds, the graph coloured by backend, and a picture of the bench."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-browser"),
            args=["--headless", "--no-sandbox", "--disable-gpu"],
        )
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.set_default_timeout(SECONDS)
        page.goto(address)
        _run_first_cell(page)
        page.keyboard.press("Control+b")  # room for the notebook
        page.get_by_role("button", name="Lower & run").click()
        _wait_for_status(page, "done")
        page.get_by_label("Quantizer").select_option("int8")
        _wait_for_status(page, "done: ExportRun(lite0: partitioner xnnpack, quantizer int8")
        page.locator(".etlab-gv[data-ready]:visible").wait_for()
        page.wait_for_timeout(3000)
        page.locator(".jp-OutputArea-output .widget-vbox").first.screenshot(path=place)
        browser.close()
    picture = Image.open(place).convert("RGB")
    picture.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        place, optimize=True
    )
    print(f"{place.name}: {picture.size}, {place.stat().st_size // 1024} KiB")


def _run_first_cell(page: Page) -> None:
    """Run it as soon as the kernel takes it."""
    prompt = page.locator(".jp-InputPrompt").first
    prompt.wait_for()
    for _ in range(60):
        page.locator(".jp-CodeCell .cm-content").first.click()
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(1000)
        if prompt.inner_text().strip() != "[ ]:":
            return
    raise SystemExit("the kernel took no cell in a minute: see whether `make lab` starts one")


def _wait_for_status(page: Page, text: str) -> None:
    page.locator(".etlab-status:visible", has_text=text).wait_for()


if __name__ == "__main__":
    main()
