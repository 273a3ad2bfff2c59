"""SizeView in a real browser: clicked, walked by keyboard, two files side by side."""

import pytest
import torch
from browser.pages import traits
from torch import nn

import etlab


def size_of(width):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(50, width), nn.ReLU(), nn.Linear(width, 30)).eval()
    return etlab.export(model, (torch.ones(1, 50),), name=f"mlp{width}").size()


def test_treemap_and_table_select_by_mouse_and_keyboard(open_view):
    page = open_view(size_of(70).widget())
    box = page.get_by_role("button", name="0.weight, 13.7 KiB")
    box.click()
    assert traits(page, "selection") == ["0.weight"]
    assert "0.weight: 13.7 KiB" in page.locator(".etlab-view-status").inner_text()
    assert page.get_by_role("row", name="0.weight").get_attribute("aria-selected") == "true"
    hull = page.locator("g[data-key='constant/2']")
    hull.focus()
    page.keyboard.press("Enter")
    assert traits(page, "selection") == ["2.weight", "2.bias"]
    page.keyboard.press("z")
    here = page.locator("[aria-current=location]")
    assert here.inner_text().startswith("2 ")
    assert page.locator("g[data-key='constant/0/weight']").count() == 0
    page.keyboard.press("u")
    assert here.inner_text().startswith("constant")
    page.get_by_role("row", name="program").click()
    assert traits(page, "selection") == ["program"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_two_files_and_no_barrier(open_view, barriers, scheme):
    small, large = size_of(30), size_of(70)
    page = open_view(large.widget(baseline=small), color_scheme=scheme)
    assert "larger or new" in page.locator(".etlab-view-legend").inner_text()
    cells = page.get_by_role("row", name="0.weight").locator("td").all_inner_texts()
    assert cells[-2:] == ["6,000", "+8,000"]
    assert barriers(page) == []
