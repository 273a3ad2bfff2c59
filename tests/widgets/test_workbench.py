import base64
import re
import threading

import ipywidgets
import pytest
import torch
from IPython.testing.globalipapp import start_ipython
from torch import nn

import etlab
from etlab.errors import NotFoundError
from etlab.widgets import workbench as module


class Waits(nn.Module):
    """A model whose eager run waits until the test lets it go on."""

    started = threading.Event()
    go_on = threading.Event()

    def forward(self, x):
        if not torch.compiler.is_exporting():
            self.started.set()
            self.go_on.wait(60)
        return x + 1


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 333), nn.Tanh(), nn.Linear(333, 3)).eval()


@pytest.fixture
def inputs():
    return torch.linspace(-1, 1, 15).reshape(3, 5)


@pytest.fixture
def fast(monkeypatch):
    """Leave the official runtime's child process out: it takes seconds to start."""
    monkeypatch.setattr(
        etlab.ExportRun, "paths", property(lambda run: ["eager", "exported", "native"])
    )


def shown(bench):
    return re.sub(r"<[^>]+>", " ", bench.status.value)


def test_pickers_offer_what_exists(model, inputs):
    bench = etlab.Workbench(model, inputs)
    assert [name for name, _ in bench.partitioner.options] == etlab.list_partitioners().names
    assert [name for name, _ in bench.quantizer.options] == etlab.list_quantizers().names
    assert bench.run is None
    assert "ready" in shown(bench)


def test_a_round_shows_the_numbers_of_its_results(model, inputs, fast):
    bench = etlab.Workbench(model, inputs, quantizer="int8-weights")
    bench.lower_and_run()
    assert bench.report._repr_html_() in bench.results.value
    assert bench.run.memory_plan()._repr_html_() in bench.results.value
    assert bench.run.delegation()._repr_html_() in bench.results.value
    assert "done" in shown(bench)
    assert bench.progress.value == bench.progress.max
    assert (bench.lower_button.disabled, bench.stop_button.disabled) == (False, True)


def test_a_round_with_a_partitioner_shows_its_reasons(inputs, fast):
    model = nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7)).eval()
    bench = etlab.Workbench(model, inputs, partitioner="xnnpack")
    bench.lower_and_run()
    (group,) = bench.run.delegation().reasons
    assert group.operators == "native_layer_norm"
    for words in ("1 call stays", group.reason, group.help, "XnnpackBackend"):
        assert words in bench.results.value
    assert bench._snapshot_html().count("What would help") == 1
    bench.partitioner.value = "xnnpack-per-op"
    bench.lower_and_run()
    assert bench.run.partitioner == "xnnpack-per-op"


def test_another_choice_changes_the_numbers(model, inputs, fast):
    bench = etlab.Workbench(model, inputs)
    bench.lower_and_run()
    first = bench.report.row("native").values["sqnr_db"]
    bench.quantizer.value = "int8-weights"
    bench.lower_and_run()
    assert bench.report.row("native").values["sqnr_db"] < first
    assert bench.run.quantizer == "int8-weights"
    assert [row[2] for row in bench._history] == ["none", "int8-weights"]


def test_button_works_in_a_thread_and_leaves_the_kernel_free(model, inputs, fast):
    bench = etlab.Workbench(model, inputs)
    bench.lower_button.click()
    assert bench.wait(120)
    assert bench.run is not None
    assert bench.report.row("native").status == "ok"


def test_stop_ends_the_round_and_keeps_earlier_results(fast):
    Waits.started.clear()
    Waits.go_on.clear()
    bench = etlab.Workbench(Waits(), torch.zeros(3))
    bench.start()
    assert Waits.started.wait(120)
    assert (bench.lower_button.disabled, bench.stop_button.disabled) == (True, False)
    bench.start()  # a second click changes nothing
    bench.stop_button.click()
    Waits.go_on.set()
    assert bench.wait(120)
    assert "stopped" in shown(bench)
    assert bench.run is None
    assert bench.lower_button.disabled is False


def test_failure_is_one_status_line(inputs):
    class Refuses(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    bench = etlab.Workbench(Refuses(), inputs)
    bench.lower_and_run()
    assert 'role="alert"' in bench.status.value
    assert "Error" in shown(bench)
    assert "torch.export refused Refuses" in shown(bench)
    assert bench.lower_button.disabled is False


def test_controls_have_names_for_screen_readers(model, inputs):
    bench = etlab.Workbench(model, inputs)
    for control in (bench.partitioner, bench.quantizer, bench.progress):
        assert control.description
    for control in (bench.lower_button, bench.stop_button):
        assert control.description
        assert control.tooltip
    assert 'aria-live="polite"' in bench.status.value


def test_display_is_a_snapshot_and_then_the_live_bench(model, inputs, fast):
    shell = start_ipython() or __import__("IPython").get_ipython()
    bench = etlab.Workbench(model, inputs)
    bench.lower_and_run()
    published = []
    publish = shell.display_pub.publish
    shell.display_pub.publish = lambda data, *args, **kwargs: published.append(data)
    try:
        bench._ipython_display_()
    finally:
        shell.display_pub.publish = publish
    snapshot, live = published
    view = "application/vnd.jupyter.widget-view+json"
    assert view not in snapshot
    assert bench.report._repr_html_() in snapshot["text/html"]
    assert view in live
    assert "text/html" not in live
    hidden = [child.value for child in bench.children if isinstance(child, ipywidgets.HTML)]
    name = re.search(r'<div class="(etlab-snapshot-\w+)">', snapshot["text/html"])[1]
    assert any(f".{name} {{display: none}}" in value for value in hidden)
    picture = re.search(r"base64,([\w+/=]+)", snapshot["text/html"])[1]
    assert base64.b64decode(picture).startswith(b"<svg")
    assert snapshot["text/plain"] == live["text/plain"] == repr(bench)


def test_shown_code_does_the_same(model, inputs):
    bench = etlab.Workbench(model, inputs, quantizer="fp16")
    assert bench.code == ("run = etlab.export(model, inputs, quantizer='fp16')\nrun.parity()")


def test_every_stage_of_the_progress_bar_is_known():
    assert len(set(module._ROUND)) == len(module._ROUND)


def test_pickers_refuse_a_choice_that_they_do_not_have(model, inputs):
    with pytest.raises(NotFoundError, match="no quantizer is called 'int9': choose from none, "):
        etlab.Workbench(model, inputs, quantizer="int9")
