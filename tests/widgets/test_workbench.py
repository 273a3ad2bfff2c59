import base64
import dataclasses
import re
import threading

import ipywidgets
import pytest
import torch
from IPython.testing.globalipapp import start_ipython
from torch import nn

import etlab
from etlab.errors import NotFoundError
from etlab.widgets.workbench import bench as module
from etlab.widgets.workbench.selection import SharedSelection


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
def layered(inputs):
    """A bench with a delegate and a call that stays."""
    model = nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7)).eval()
    return etlab.Workbench(model, inputs, partitioner="xnnpack", on_change=False)


def shown(bench):
    return re.sub(r"<[^>]+>", " ", bench.status.value)


def look_at(bench, place):
    """Pick a tab; it is brought up to date beside the kernel's thread."""
    bench.tabs.selected_index = place
    assert bench.wait(120)


def test_pickers_offer_what_exists(model, inputs):
    bench = etlab.Workbench(model, inputs)
    assert [
        name for _, name in bench.partitioner.dropdown.options
    ] == etlab.list_partitioners().names
    assert [name for name, _ in bench.quantizer.dropdown.options] == etlab.list_quantizers().names
    assert bench.run is None
    assert "ready" in shown(bench)


def test_a_round_shows_the_numbers_of_its_results(model, inputs):
    bench = etlab.Workbench(model, inputs, quantizer="int8-weights")
    bench.lower_and_run()
    assert bench.summary.value == bench.report._repr_html_()
    assert [row.path for row in bench.report.rows] == ["eager", "quantized", "native"]
    assert "done" in shown(bench)
    assert bench.progress.value == bench.progress.max
    assert (bench.lower_button.disabled, bench.stop_button.disabled) == (False, True)
    assert f"{len(bench.run.file.data):,} B" in bench.history.value


def test_tabs_show_the_reports_of_the_round_that_is_current(layered):
    bench = layered
    bench.lower_and_run()
    assert bench.tabs.titles == ("Graph", "Delegation", "Memory", "Parity", "Profile", "Size")
    for place, panel in enumerate(bench.panels):
        look_at(bench, place)
        assert panel.report is not None
        assert not panel.is_stale
        assert "run = etlab.export(" in panel.code.code
    graph, delegation, memory, parity, _, size = bench.panels
    assert graph.view.data == bench.run.graph()
    assert delegation.report == bench.run.delegation()
    assert memory.report.peak == bench.run.memory_plan().peak
    assert size.report == bench.run.size()
    assert parity.report.row("native") == bench.report.row("native")
    bench.quantizer.choose("int8-weights", min_elements=9)
    bench.lower_and_run()
    assert [panel.is_stale for panel in bench.panels] == [True] * 5 + [False]
    look_at(bench, 1)
    assert delegation.report == bench.run.delegation()
    assert not delegation.is_stale


def test_code_of_every_tab_gives_what_the_tab_shows(layered):
    bench = layered
    bench.lower_and_run()
    for place, panel in enumerate(bench.panels):
        look_at(bench, place)
        *lines, last = panel.code.code.splitlines()
        names = {"model": bench._model, "inputs": bench._inputs}
        exec("\n".join(lines), names)
        again = eval(last, names)
        assert type(again) is type(panel.report)
        if panel.kind.title not in ("Profile", "Parity"):
            assert again._repr_html_() == panel.report._repr_html_()


def test_what_is_selected_in_one_view_is_selected_in_the_others(layered):
    bench = layered
    bench.lower_and_run()
    for place in range(3):
        look_at(bench, place)
    graph, delegation = bench.panels[0].view, bench.panels[1].view
    (name,) = [node.name for node in graph.data.nodes if node.operator == "native_layer_norm"]
    graph.selection = [name]
    assert bench.selection == [name]
    if hasattr(delegation, "selection"):
        assert delegation.selection == [name]
    shared = SharedSelection()
    shared.follow(bench.run.graph())
    views = [bench.run.graph("aten").widget(), bench.run.graph().widget()]
    for place, view in enumerate(views):
        shared.add(str(place), view)
    views[0].selection = ["layer_norm"]
    assert name in views[1].selection
    views[1].selection = [name]
    assert views[0].selection == ["layer_norm"]


def test_another_round_is_compared_with_the_pinned_one(layered):
    bench = layered
    bench.lower_and_run()
    assert bench.baseline.value == 1
    bench.partitioner.value = "none"
    bench.lower_and_run()
    assert "(-50 points)" in bench.history.value
    assert "1 (baseline)" in bench.history.value
    bench.baseline.value = 2
    assert "2 (baseline)" in bench.history.value
    bench.baseline.value = 0
    assert "baseline" not in bench.history.value.replace("rounds of this bench", "")
    assert [one.run.partitioner for one in bench.rounds] == ["xnnpack", "none"]


def test_layers_kept_in_float_by_the_parity_view_are_a_round_of_their_own(model, inputs):
    samples = [(inputs * step,) for step in (0.5, 1.0)]
    bench = etlab.Workbench(
        model, inputs, calibration=samples, quantizer="int8", partitioner="xnnpack", on_change=False
    )
    look_at(bench, 3)
    bench.lower_and_run()
    bench.panels[3].view.rerun(["2"])
    assert len(bench.rounds) == 2
    assert bench.run is bench.panels[3].view.run
    assert bench.rounds[1].sqnr_db > bench.rounds[0].sqnr_db
    names = {"model": model, "inputs": inputs, "calibration": samples}
    exec(bench.rounds[1].code, names)
    assert names["run"].file.data == bench.run.file.data


def test_parameters_have_fields_made_from_signatures(model, inputs):
    bench = etlab.Workbench(model, inputs, quantizer="8da4w:group_size=64", on_change=False)
    field = bench.quantizer.fields["group_size"]
    assert (field.description, field.value) == ("group_size", 64)
    assert bench.quantizer.chosen == "8da4w:group_size=64"
    field.value = 16
    assert bench.quantizer.value == "8da4w:group_size=16"
    assert "quantizer='8da4w:group_size=16'" in bench.code_view.code
    bench.quantizer.value = "int8"
    bench.quantizer.fields["keep_float"].value = "('0', '2')"
    assert bench.quantizer.chosen.keep_float == ("0", "2")
    assert "quantizer=Int8(keep_float=('0', '2'))" in bench.code
    assert "import Int8" in bench.code
    bench.quantizer.fields["keep_float"].value = "('0',"
    assert "neither a plain word nor a Python literal" in shown(bench)


def test_data_are_picked_by_name_and_number(model, inputs):
    sets = {"steps": [(inputs + step,) for step in range(5)], "one": inputs}
    bench = etlab.Workbench(model, inputs, calibration=sets, quantizer="int8", on_change=False)
    bench.data.dropdown.value = "steps"
    bench.data.count.value = 3
    assert "calibration=list(itertools.islice(calibration['steps'], 3))" in bench.code
    bench.lower_and_run()
    assert len(bench.run.calibration) == 3
    assert bench.report.samples == 3
    bench.data.dropdown.value = "example"
    assert "calibration" not in bench.code
    assert bench.data.count.disabled


def test_a_changed_option_starts_the_next_round(model, inputs):
    bench = etlab.Workbench(model, inputs)
    bench.quantizer.value = "fp16"
    assert bench.run is None  # nothing runs before the first press
    bench.lower_and_run()
    bench.quantizer.value = "int8-weights"
    assert bench.wait(120)
    assert [one.run.quantizer for one in bench.rounds] == ["fp16", "int8-weights"]
    bench.quantizer.fields["min_elements"].value = 9
    assert bench.wait(120)
    assert bench.run.quantizer == "int8-weights:min_elements=9"


def test_another_choice_changes_the_numbers(model, inputs):
    bench = etlab.Workbench(model, inputs, on_change=False)
    bench.lower_and_run()
    first = bench.report.row("native").values["sqnr_db"]
    bench.quantizer.value = "int8-weights"
    bench.lower_and_run()
    assert bench.report.row("native").values["sqnr_db"] < first
    assert bench.run.quantizer == "int8-weights"
    assert [one.run.quantizer for one in bench.rounds] == ["none", "int8-weights"]


def test_button_works_in_a_thread_and_leaves_the_kernel_free(model, inputs):
    bench = etlab.Workbench(model, inputs)
    bench.lower_button.click()
    assert bench.wait(120)
    assert bench.run is not None
    assert bench.report.row("native").status == "ok"


def test_stop_ends_the_round_and_keeps_earlier_results():
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


def test_stop_frees_the_bench_from_a_step_that_cannot_be_cut_short():
    Waits.started.clear()
    Waits.go_on.clear()
    bench = etlab.Workbench(Waits(), torch.zeros(3))
    bench.start()
    assert Waits.started.wait(120)
    bench.stop_button.click()
    assert bench.wait(120)  # the model waits in native code all the same
    assert "stopped; a step that cannot be cut short" in shown(bench)
    assert (bench.lower_button.disabled, bench.stop_button.disabled) == (False, True)
    bench.start()  # waits for that step
    assert not bench.wait(0.2)
    Waits.go_on.set()
    assert bench.wait(120)
    assert bench.report.row("native").status == "ok"
    assert [one.number for one in bench.rounds] == [1]


def test_the_report_of_a_tab_is_stopped_and_made_when_it_is_picked_again(layered):
    bench, started, go_on = layered, threading.Event(), threading.Event()
    bench.lower_and_run()
    panel = bench.panels[4]
    make = panel.kind.make

    def endless(run):
        started.set()
        while not go_on.is_set():
            pass
        return make(run)

    panel.kind = dataclasses.replace(panel.kind, make=endless)
    bench.tabs.selected_index = 4
    assert started.wait(120)  # while the kernel's thread is here
    assert bench.stop_button.disabled is False
    bench.stop_button.click()
    assert bench.wait(120)
    assert "stopped" in shown(bench)
    assert panel.report is None
    go_on.set()
    look_at(bench, 0)
    look_at(bench, 4)
    assert panel.report is not None
    assert "done" in shown(bench)


def test_stop_ends_an_export_that_listens_to_nobody():
    class Endless(nn.Module):
        started = threading.Event()

        def forward(self, x):
            self.started.set()
            while True:
                x = x + 1

    bench = etlab.Workbench(Endless(), torch.zeros(3))
    bench.start()
    assert Endless.started.wait(120)
    bench.stop_button.click()
    assert bench.wait(120)
    assert "stopped" in shown(bench)
    assert (bench.lower_button.disabled, bench.stop_button.disabled) == (False, True)


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
    pickers = (bench.partitioner.dropdown, bench.quantizer.dropdown, bench.data.dropdown)
    for control in (*pickers, bench.data.count, bench.baseline, bench.follow, bench.progress):
        assert control.description
    for control in (bench.lower_button, bench.stop_button):
        assert control.description
        assert control.tooltip
    assert 'aria-live="polite"' in bench.status.value


def test_display_is_a_snapshot_and_then_the_live_bench(model, inputs):
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
    bench.lower_and_run()
    names = {"model": model, "inputs": inputs}
    exec(bench.code_view.code, names)
    assert names["run"].file.data == bench.run.file.data
    assert names["report"].rows == bench.report.rows


def test_every_stage_of_the_progress_bar_is_known():
    assert len(set(module.STAGES_OF_A_ROUND)) == len(module.STAGES_OF_A_ROUND)


def test_pickers_refuse_a_choice_that_they_do_not_have(model, inputs):
    with pytest.raises(NotFoundError, match="no quantizer is called 'int9': choose from none, "):
        etlab.Workbench(model, inputs, quantizer="int9")
