import shutil
import urllib.parse

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]


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
