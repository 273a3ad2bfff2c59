"""Takes the README's pictures of the workbench: JupyterLab in Chromium, light and dark.

python tools/screenshots.py    # needs chromium and the packages of requirements-dev.txt
"""

import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import lab

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
            address, server = lab.start(Path(folder), [CELL], theme=theme)
            try:
                lab.wait_for(address, server)
                _take(f"{address}/lab/tree/bench.ipynb?reset", DOCS / f"workbench-{name}.png")
            finally:
                server.terminate()
                server.wait(60)


def _take(address: str, place: Path) -> None:
    """Two rounds, the graph coloured by backend, and a picture of the bench."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=lab.CHROMIUM, args=lab.ARGUMENTS)
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.set_default_timeout(SECONDS)
        page.goto(address)
        lab.run_first_cell(page)
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


def _wait_for_status(page: Page, text: str) -> None:
    page.locator(".etlab-status:visible", has_text=text).wait_for()


if __name__ == "__main__":
    main()
