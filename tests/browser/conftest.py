import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

import nbformat
import pytest

SECONDS = 120_000  # milliseconds that a slow machine may take for one step
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


@pytest.fixture(scope="module")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")
    if CHROMIUM is None:
        pytest.skip("needs the system package chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def foreign_requests():
    """A function that records what a page asks of any host but this machine."""

    def watch(page):
        found = []

        def note(request):
            parts = urllib.parse.urlparse(request.url)
            remote = parts.scheme in ("http", "https", "ws", "wss")
            if remote and parts.hostname != "127.0.0.1":
                found.append(request.url)

        page.on("request", note)
        return found

    return watch


@pytest.fixture
def open_view(chromium, foreign_requests, tmp_path):
    """A function that opens a view as a page; at the end nothing may have gone wrong in it."""
    pages, problems = [], []

    def opened(view, **options):
        file = tmp_path / "view.html"
        file.write_text(view.to_html())
        page = chromium.new_page(**{"viewport": {"width": 1200, "height": 700}, **options})
        pages.append(page)
        page.set_default_timeout(SECONDS)
        problems.append(foreign_requests(page))
        page.on("console", lambda message: problems.append([message.text]))
        page.on("pageerror", lambda error: problems.append([str(error)]))
        page.goto(file.as_uri())
        page.locator(".etlab-view[data-ready]").wait_for()
        return page

    yield opened
    for page in pages:
        page.close()
    assert [one for found in problems for one in found] == []


@pytest.fixture
def barriers():
    """A function that tells what axe-core finds wrong in a page: rule and element."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("needs the package axe-playwright-python")
    script = (Path(spec.origin).parent / "axe.min.js").read_text()

    def found(page):
        page.evaluate(script)
        report = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [(one["id"], one["nodes"][0]["html"]) for one in report["violations"]]

    return found


@pytest.fixture
def wait_until():
    """Wait for a truth in a page, whose policy forbids what playwright itself would do."""

    def wait(page, expression):
        for _ in range(600):
            if page.evaluate(expression):
                return
            page.wait_for_timeout(100)
        raise AssertionError(f"it never came true: {expression}")

    return wait


@pytest.fixture(scope="module")
def lab_of(tmp_path_factory):
    """A function that starts JupyterLab, or Notebook 7, on a notebook with these cells: its URL."""
    pytest.importorskip("jupyterlab", reason="needs the jupyterlab package")
    servers = []

    def start(cells, application="jupyterlab"):
        address, server = _start_lab(tmp_path_factory.mktemp("lab"), cells, application)
        servers.append(server)
        _wait_for(f"{address}/api/status", server)
        place = "lab/tree" if application == "jupyterlab" else "notebooks"
        return f"{address}/{place}/bench.ipynb?reset"

    try:
        yield start
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:  # a loaded machine takes long to end the kernels
                server.kill()
                server.wait(30)


def _start_lab(folder, cells, application):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(one) if isinstance(one, str) else one for one in cells]
    )
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


@pytest.fixture
def run_first_cell():
    """A function that runs the first cell of an opened notebook."""
    return _run_first_cell


def _run_first_cell(page):
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


@pytest.fixture
def close_kernels():
    """A function that ends all kernels of the server of an opened page."""

    def close(page):
        page.evaluate("""async () => {
          for (const { id } of await (await fetch('/api/sessions')).json()) {
            const token = document.cookie.match(/_xsrf=([^;]+)/)?.[1] ?? '';
            await fetch(`/api/sessions/${id}`, {method: 'DELETE', headers: {'X-XSRFToken': token}});
          }
        }""")

    return close
