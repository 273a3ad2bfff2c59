"""What a saved notebook keeps of every result and every view: it needs no kernel and no trust."""

import re

import pytest
from IPython.testing.globalipapp import start_ipython
from saved_results import results_of, small_run

from etlab.widgets import find_view

VIEW = "application/vnd.jupyter.widget-view+json"
LARGEST = 150_000  # bytes of an output


@pytest.fixture(scope="module")
def run():
    return small_run()


@pytest.fixture(scope="module")
def results(run, tmp_path_factory):
    return results_of(run, tmp_path_factory.mktemp("sweep"))


def shown(thing):
    """The outputs of a cell that ends in `thing`."""
    shell = start_ipython() or __import__("IPython").get_ipython()
    published = []
    publish = shell.display_pub.publish
    shell.display_pub.publish = lambda data, *args, **kwargs: published.append(data)
    try:
        thing._ipython_display_()
    finally:
        shell.display_pub.publish = publish
    return published


def test_every_result_is_html_that_an_untrusted_page_keeps(results):
    for name, result in results.items():
        html = result._repr_html_()
        # What Jupyter's sanitizer takes away.
        found = re.findall(r"<(?:style|script|svg|iframe|link|object)\b|\son\w+=", html)
        assert not found, f"{name}: {found}"
        assert "<table" in html or "<img" in html or "<pre" in html, name
        assert len(html) < LARGEST, name
        assert all(source.startswith("data:") for source in re.findall(r'src="([^"]*)"', html))


def test_every_result_says_itself_in_text_without_addresses(results):
    for name, result in results.items():
        assert not re.search(r"0x[0-9a-f]{6,}|object at", repr(result)), name
        assert str(result).strip(), name


def test_same_result_has_the_same_face(run, results, tmp_path):
    again = results_of(run, tmp_path)
    for name in results.keys() - {"profile", "sweep"}:  # these hold times, and a place
        assert again[name]._repr_html_() == results[name]._repr_html_(), name


@pytest.mark.parametrize(
    ("view", "result"),
    [
        ("GraphView", "graph"),
        ("CompareView", "comparison"),
        ("PassView", "passes"),
        ("DelegationView", "delegation"),
        ("MemoryPlanView", "memory plan"),
        ("ParityView", "parity"),
        ("SweepView", "sweep"),
        ("DiffView", "diff"),
    ],
)
def test_every_view_leaves_a_picture_and_then_shows_itself(results, view, result):
    live = find_view(view)(results[result])
    picture, widget = shown(live)
    assert VIEW not in picture
    assert results[result]._repr_html_() in picture["text/html"]
    assert VIEW in widget
    assert "text/html" not in widget
    assert picture["text/plain"] == widget["text/plain"] == repr(live)
    assert live.hides in picture["text/html"]
    assert shown(live)[0] == picture  # a notebook that runs again does not change


def test_views_that_say_no_theme_have_that_of_the_session(results, monkeypatch):
    monkeypatch.setenv("ETLAB_THEME", "dark")
    own, light = (results["graph"].widget(theme=theme) for theme in ("auto", "light"))
    shown(own)
    shown(light)
    assert (own.theme, light.theme) == ("dark", "light")
