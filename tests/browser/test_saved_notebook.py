"""A notebook that somebody else ran, opened without trust and without a kernel."""

import nbformat
from saved_results import results_of, small_run

SECONDS = 120_000  # milliseconds that a slow machine may take for one step


def test_untrusted_notebook_shows_every_result(chromium, foreign_requests, lab_of, tmp_path):
    results = results_of(small_run(), tmp_path)
    cells = [
        nbformat.v4.new_code_cell(
            name,
            execution_count=1,
            outputs=[
                nbformat.v4.new_output(
                    "execute_result",
                    {"text/html": result._repr_html_(), "text/plain": repr(result)},
                    execution_count=1,
                )
            ],
        )
        for name, result in results.items()
    ]
    page = chromium.new_page(viewport={"width": 1200, "height": 40_000})
    page.set_default_timeout(SECONDS)
    foreign = foreign_requests(page)
    page.goto(lab_of(cells))
    page.locator(".jp-OutputArea-output").nth(len(cells) - 1).wait_for()
    seen = page.locator(".jp-OutputArea-output")
    for place, (name, result) in enumerate(results.items()):
        output = seen.nth(place)
        pictures = result._repr_html_().count("<img")
        assert output.locator("img").count() == pictures, name
        loaded = output.locator("img").evaluate_all("all => all.every((one) => one.naturalWidth)")
        assert loaded, name
        assert output.locator("table, pre, img").count() > 0, name
    assert foreign == []
    page.close()
