"""A real JupyterLab for a real browser: what tests and the pictures of the README start."""

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]

_CLASSES = {"jupyterlab": "LabApp", "notebook": "JupyterNotebookApp"}


def start(
    folder: Path,
    cells: Sequence[Any],
    application: str = "jupyterlab",
    theme: str = "JupyterLab Light",
) -> tuple[str, "subprocess.Popen[bytes]"]:
    """A JupyterLab, or Notebook 7, on `bench.ipynb` with these cells: its address and process."""
    notebook: Any = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(one) if isinstance(one, str) else one for one in cells]
    )
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, folder / "bench.ipynb")
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    news = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(news))
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            application,
            "--no-browser",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            "--IdentityProvider.token=",
            f"--ServerApp.root_dir={folder}",
            f"--{_CLASSES[application]}.user_settings_dir={folder / 'settings'}",
            f"--{_CLASSES[application]}.workspaces_dir={folder / 'workspaces'}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return f"http://127.0.0.1:{port}", server


def wait_for(address: str, server: "subprocess.Popen[bytes]") -> None:
    """Wait until a started server answers."""
    url = f"{address}/api/status"
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert server.poll() is None, "JupyterLab ended by itself"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"JupyterLab did not answer at {url}")


def run_first_cell(page: Any) -> None:
    """Run it as soon as the kernel takes it: before, JupyterLab drops the request in silence."""
    prompt = page.locator(".jp-InputPrompt").first
    prompt.wait_for()
    for _ in range(60):
        # A slow server makes JupyterLab ask, for a kernel or about its copy of the file.
        for button in page.locator(".jp-Dialog .jp-mod-accept").all():
            button.click()
        page.locator(".jp-CodeCell .cm-content").first.click()
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(1000)
        if prompt.inner_text().strip() != "[ ]:":
            return
    raise AssertionError("the kernel took no cell")
