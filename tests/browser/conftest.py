import importlib.util
import subprocess
import urllib.parse
from pathlib import Path

import pytest
from browser import lab

SECONDS = 120_000  # milliseconds that a slow machine may take for one step


@pytest.fixture(scope="module")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")
    if lab.CHROMIUM is None:
        pytest.skip("needs the system package chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=lab.CHROMIUM, args=lab.ARGUMENTS)
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
        address, server = lab.start(tmp_path_factory.mktemp("lab"), cells, application)
        servers.append(server)
        lab.wait_for(address, server)
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


@pytest.fixture
def run_first_cell():
    """A function that runs the first cell of an opened notebook."""
    return lab.run_first_cell


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
