"""How quick MemoryPlanView is, in a headless Chromium that draws without a GPU.

    python benchmarks/memory_view.py [tensors ...]

Per size: the kernel's part (the view of a plan with as many tensors and steps), the page's part
(from the call of `render` to the first frame), what a move of the pointer takes until the tensor
under it is marked, and a frame while the plan is moved. Bar: 5,000 tensors in 500 ms, 16 ms to
hover. The figures are the best of three rounds.
"""

import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import torch

from etlab.display import text_table
from etlab.exir.memory.plan import MemoryPlan, PlannedTensor
from etlab.inspect.memory import MemoryReport

ROUNDS = 3
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
OPERATORS = [f"aten::{name}.out" for name in ("add", "mul", "mm", "relu", "gelu", "softmax")]
HOVER = """() => {
  const canvas = document.querySelector('canvas');
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const times = [];
  for (let k = 0; k < 60; k++) {
    const at = { clientX: left + 90 + (k * 37) % (width - 120), clientY: top + 12 + (k * 13) % 90 };
    const begin = performance.now();
    canvas.dispatchEvent(new PointerEvent('pointermove', { ...at, pointerId: 1, bubbles: true }));
    times.push(performance.now() - begin);
  }
  return times;
}"""
FRAMES = """async () => {
  const canvas = document.querySelector('canvas');
  const wheel = (deltaY) => canvas.dispatchEvent(new WheelEvent('wheel',
    { deltaY, ctrlKey: true, clientX: 500, clientY: 150, cancelable: true }));
  const next = () => new Promise(requestAnimationFrame);
  const frames = [];
  let last = await next();
  for (let k = 0; k < 60; k++) {
    wheel(k % 20 < 10 ? -4 : 4);
    const now = await next();
    frames.push(now - last);
    last = now;
  }
  return frames;
}"""


def random_report(count: int) -> MemoryReport:
    """A plan of `count` tensors over as many steps, most of them alive for a few steps."""
    choose = random.Random(0)
    tensors = []
    for k in range(count):
        life = choose.choice((1, 2, 2, 3, 5, 40, 400))
        nbytes = 16 * choose.randint(1, 4096)
        place = (1, 0, k, min(k + life, count - 1))
        name, module = f"tensor_{k}", f"blocks.{k % 24}.mlp"
        source = f"model.py:{k % 300}"
        operator = choose.choice(OPERATORS)
        kind = (nbytes, torch.float32, (nbytes // 4,))
        tensors.append(PlannedTensor(k, name, operator, module, source, *kind, *place, 2))
    steps = tuple(choose.choice(OPERATORS) for _ in range(count))
    plan = MemoryPlan("forward", tuple(tensors), {1: 0}, 16, steps, "greedy")
    return MemoryReport("random", plan).replanned("greedy")


def page_part(browser, view, folder: Path) -> dict[str, float]:
    """Milliseconds of the page: first frame, hover and frame at the 95th percentile."""
    file = folder / "view.html"
    timed = "const begun = performance.now(); new MutationObserver(() => "
    timed += "requestAnimationFrame(() => (window.first ??= performance.now() - begun)))"
    timed += ".observe(document.getElementById('view'), {subtree: true, attributes: true,"
    timed += " attributeFilter: ['data-ready']});\nwidget.render"
    file.write_text(view.to_html().replace("widget.render", timed))
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        page = browser.new_page(viewport={"width": 1200, "height": 700})
        page.goto(file.as_uri())
        page.locator(".etlab-view[data-ready]").wait_for(timeout=60_000)
        page.wait_for_timeout(200)
        found = {"first": float(page.evaluate("window.first"))}
        for name, script in (("hover", HOVER), ("frame", FRAMES)):
            found[name] = sorted(page.evaluate(script))[56]
        page.close()
        best = {key: min(value, best.get(key, value)) for key, value in found.items()}
    return best


def main() -> None:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    rows = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        for count in [int(one) for one in sys.argv[1:]] or [500, 5_000]:
            report = random_report(count)
            kernel = []
            for _ in range(ROUNDS):
                begin = time.perf_counter()
                view = report.widget()
                kernel.append(1e3 * (time.perf_counter() - begin))
            page = page_part(browser, view, Path(folder))
            total = min(kernel) + page["first"]
            figures = [min(kernel), page["first"], total, page["hover"], page["frame"]]
            rows.append([f"{count:,}", *(f"{one:.1f}" for one in figures)])
        browser.close()
    columns = ["tensors", "kernel (ms)", "page (ms)", "open (ms)", "p95 hover (ms)", "p95 frame"]
    print(text_table(columns, rows))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
