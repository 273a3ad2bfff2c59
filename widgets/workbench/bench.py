"""`Workbench`: pickers, buttons, tabs and history, and what happens when they are used."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets
import torch
from IPython.display import display

import etlab
from etlab import display as markup
from etlab.arguments import as_arguments, check_model
from etlab.errors import EtlabError, InterruptedExecutionError
from etlab.numerics import ParityReport
from etlab.run import ExportRun, StageListener, listen
from etlab.widgets._stopping import Stoppable, StopWork
from etlab.widgets.code_view import CodeView
from etlab.widgets.workbench.data import DataPicker
from etlab.widgets.workbench.panels import Panel, kinds
from etlab.widgets.workbench.picker import ChoicePicker
from etlab.widgets.workbench.rounds import Round, Rounds, without_report
from etlab.widgets.workbench.selection import SharedSelection
from etlab.widgets.workbench.snapshot import Snapshot
from etlab.widgets.workbench.worker import Worker

# Stages of one round, for the progress bar; others are shown by name and do not move it.
STAGES_OF_A_ROUND = (
    "export",
    "quantize",
    "decompose",
    "edge passes",
    "partition",
    "to out variants",
    "memory plan",
    "emit",
    "serialize",
    "run eager",
    "run exported",
    "run quantized",
    "run native",
    "start official",
    "run official",
)
PATHS = ("eager", "quantized", "native")


class Workbench(ipywidgets.VBox):
    """The whole bench in a cell.

    Args:
        model: a module in eval mode; it is not changed.
        inputs: example inputs: a tensor or a tuple of arguments.
        calibration: samples for quantizers and parity, as `etlab.export` takes them, or several
            such by name, of which one is picked; the example by default.
        partitioner: what the picker shows first, such as "xnnpack".
        quantizer: what the picker shows first, such as "8da4w:group_size=64".
        name: what reports call the model.
        paths: what parity compares; add "official" for ExecuTorch's own runtime, "device:tosa" for
            what stands in for an NPU of Arm's.
        on_change: once there is a round, every changed option starts the next.

    Raises:
        InvalidArgumentError: `model` is no module, or there are no inputs.
        NotFoundError: a picker has no such choice.

    `bench.run` and `bench.report` are the last results, for the next cell; `bench.rounds` has all,
    `bench.selection` the names of what is selected in any view.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        inputs: Any,
        *,
        calibration: Any = None,
        partitioner: str = "none",
        quantizer: str = "none",
        name: str | None = None,
        paths: Sequence[str] = PATHS,
        on_change: bool = True,
    ) -> None:
        """Build the bench; nothing is lowered before the button or `lower_and_run()`."""
        self._model = check_model(model, "Workbench")
        self._inputs = as_arguments(inputs, "Workbench")
        self._name, self._paths = name, list(paths)
        self.run: ExportRun | None = None
        self.report: ParityReport | None = None
        self.rounds: list[Round] = []
        self._lowered = ""  # code of the last round that the pickers made
        self._worker = Worker(self._on_busy, self._on_idle)
        self.snapshot = Snapshot()
        self._selection = SharedSelection()
        self._build(calibration, partitioner, quantizer)
        self.follow.value = on_change
        for picker in (self.partitioner, self.quantizer):
            picker.on_change(self._changed)
        for field in (self.data.dropdown, self.data.count):
            field.observe(lambda _: self._changed(), "value")

    def _build(self, calibration: Any, partitioner: str, quantizer: str) -> None:
        """All widgets, and what their events do."""
        self.partitioner = ChoicePicker(
            "Partitioner",
            etlab.list_partitioners(),
            value=partitioner,
            tooltip="who runs parts of the graph",
        )
        self.quantizer = ChoicePicker(
            "Quantizer",
            etlab.list_quantizers(),
            value=quantizer,
            tooltip="how the model is made smaller",
        )
        self.data = DataPicker(calibration)
        self.follow = ipywidgets.Checkbox(
            description="run on every change",
            tooltip="once there is a round, every changed option starts the next",
            indent=False,
            layout={"width": "180px"},
        )
        self.lower_button = ipywidgets.Button(
            description="Lower & run",
            button_style="primary",
            tooltip="lower the model with these choices, run every path and compare",
        )
        self.stop_button = ipywidgets.Button(
            description="Stop", disabled=True, tooltip="stop the lowering or the native run"
        )
        self.progress = ipywidgets.IntProgress(
            min=0, max=len(STAGES_OF_A_ROUND), description="Progress", layout={"width": "260px"}
        )
        self.status = ipywidgets.HTML()
        self.summary = ipywidgets.HTML()
        self.code_view = CodeView(self.code)
        self.panels = [Panel(kind, self._on_view) for kind in kinds(self._paths)]
        self.tabs = ipywidgets.Tab(
            children=self.panels, titles=[panel.kind.title for panel in self.panels]
        )
        self.baseline = ipywidgets.Dropdown(
            options=[("none", 0)],
            description="Baseline",
            tooltip="Baseline: the round that the others are compared with",
            layout={"width": "300px"},
        )
        self.history = ipywidgets.HTML()
        self._say("ready")
        self.lower_button.on_click(lambda _: self.start())
        self.stop_button.on_click(lambda _: self.stop())
        self.tabs.observe(lambda _: self._on_tab(), "selected_index")
        self.baseline.observe(lambda _: self._show_history(), "value")
        hide = ipywidgets.HTML(self.snapshot.style)
        wrap = {"flex_flow": "wrap", "align_items": "flex-start"}
        buttons = [self.lower_button, self.stop_button, self.follow, self.progress, self.status]
        super().__init__(
            [
                ipywidgets.HBox([self.partitioner, self.quantizer, self.data], layout=wrap),
                ipywidgets.HBox(buttons, layout=wrap),
                self.summary,
                self.tabs,
                ipywidgets.HBox([self.baseline, self.code_view], layout=wrap),
                self.history,
                hide,
            ]
        )

    @property
    def code(self) -> str:
        """The Python that does what the button does."""
        pairs = {
            "partitioner": self.partitioner.code,
            "quantizer": self.quantizer.code,
            "calibration": self.data.code,
            "name": repr(self._name) if self._name else "",
        }
        given = "".join(f", {key}={value}" for key, value in pairs.items() if value)
        imports = {self.partitioner.imports, self.quantizer.imports} - {""}
        if "itertools." in self.data.code:
            imports.add("import itertools")
        paths = ", ".join(repr(one) for one in self._paths_of_round())
        lines = [*sorted({*imports, "import etlab"}), ""]
        lines.append(f"run = etlab.export(model, inputs{given})")
        lines.append(f"report = run.parity(paths=[{paths}], layers=False)")
        return "\n".join(lines)

    @property
    def selection(self) -> list[str]:
        """Names of what is selected, as the view has them in which it was selected."""
        return list(self._selection.names)

    @property
    def table(self) -> Rounds:
        """All rounds side by side, beside the baseline that is picked."""
        pinned = next((one for one in self.rounds if one.number == self.baseline.value), None)
        name = self._name or type(self._model).__name__
        return Rounds(tuple(self.rounds), pinned, name)

    def report_parts(self) -> list[Any]:
        """What `etlab.report` puts on the page: the table, then what each round found."""
        found = [(one.report, one.run.delegation()) for one in self.rounds]
        return [self.table, *(part for pair in found for part in pair)]

    def start(self) -> None:
        """What *Lower & run* does: a round in a thread of its own, so the kernel stays free."""
        if not self._worker.is_busy:
            self._worker.start(self._do_round)

    def stop(self) -> None:
        """End the running round: between stages, in native code, and wherever Python runs."""
        if self._worker.is_busy:
            self._say("stopping …")
        self._worker.stop()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for a started round; whether it ended in time."""
        return self._worker.wait(timeout)

    def lower_and_run(self) -> None:
        """One round, in this thread: export, run, compare, show. Errors become the status line."""
        self._worker.call(self._do_round)

    def _do_round(self, block: Stoppable) -> None:
        self._do(block, self._round, "the results below are those of the last whole round")

    def _do_panel(self, block: Stoppable) -> None:
        self._do(block, self._refresh_panel, "a tab is brought up to date when it is picked again")

    def _do(self, block: Stoppable, work: Callable[[], None], left: str) -> None:
        """Work that shows its stages; `left` says what there is when it was stopped."""
        listener = StageListener(
            on_start=lambda stage: self._on_stage(block, stage),
            should_stop=lambda: block.is_asked,
            on_part=lambda *part: self._on_part(block, *part),
        )

        def listening() -> None:
            with listen(listener):
                work()

        said, failed = "", False
        try:
            block.call(listening)
        except (InterruptedExecutionError, StopWork):
            said = f"stopped; {left}"
        except EtlabError as error:
            said, failed = str(error), True
        except Exception as error:
            said, failed = f"{type(error).__name__}: {error}", True
        if not self._worker.is_current(block):
            return
        if said:
            self._say(said, failed=failed)
        elif block.is_asked:  # too late to stop anything
            self._say_done()

    def _round(self) -> None:
        begin = time.perf_counter()
        code = self.code
        run = etlab.export(
            self._model,
            self._inputs,
            partitioner=self.partitioner.chosen,
            quantizer=self.quantizer.chosen,
            calibration=self.data.samples,
            name=self._name,
        )
        report = run.parity(paths=[one for one in self._paths if one in run.paths], layers=False)
        seconds = time.perf_counter() - begin
        self.run, self.report = run, report
        self.rounds.append(Round(len(self.rounds) + 1, run, report, code, seconds))
        self._lowered = code
        self._show()

    def _changed(self) -> None:
        """An option has another value: show the code, and run when that is wanted."""
        try:
            self.code_view.code = self.code
        except EtlabError as error:
            self._say(str(error), failed=True)
            return
        if not self.follow.value or not self.rounds:
            return
        self._worker.replace(self._do_round)

    def _on_tab(self) -> None:
        """Another tab is looked at."""
        if self.run is not None and self.panels[self.tabs.selected_index or 0].is_stale:
            self._worker.start(self._do_panel)

    def _on_busy(self) -> None:
        self.lower_button.disabled, self.stop_button.disabled = True, False
        self.progress.value, self.progress.bar_style = 0, "info"

    def _on_idle(self, is_silent: bool) -> None:
        self.lower_button.disabled, self.stop_button.disabled = False, True
        if is_silent:
            self._say("stopped; a step that cannot be cut short still ends by itself")

    def _paths_of_round(self) -> list[str]:
        is_float = self.quantizer.dropdown.value == "none"
        return [one for one in self._paths if one != "quantized" or not is_float]

    def _on_stage(self, block: Stoppable, stage: str) -> None:
        if not self._worker.is_current(block) or block.is_asked:
            return
        if stage in STAGES_OF_A_ROUND:
            place = STAGES_OF_A_ROUND.index(stage)
            self.progress.value = max(self.progress.value, place)
        self._say(f"{stage} …")

    def _on_part(self, block: Stoppable, stage: str, done: int, total: int | None) -> None:
        if self._worker.is_current(block) and not block.is_asked:
            self._say(f"{stage} {done + 1}" + ("" if total is None else f" of {total}") + " …")

    def _show(self) -> None:
        """The results of the last round, everywhere."""
        assert self.run is not None
        assert self.report is not None
        self._selection.follow(self.run.graph())
        self.summary.value = self.report._repr_html_()
        self._pick_baseline()
        self._show_history()
        for panel in self.panels:
            panel.is_stale = True
        self._refresh_panel()
        self.snapshot.follow(self.rounds[-1], self.history.value)

    def _refresh_panel(self) -> None:
        """Bring the tab that is looked at up to date; the others follow when they are looked at."""
        panel = self.panels[self.tabs.selected_index or 0]
        if self.run is None or not panel.is_stale:
            return
        code = without_report(self.rounds[-1].code)
        expression = panel.kind.code
        if panel.kind.title == "Parity":
            expression = f"run.parity(paths={self._paths_of_round()!r})"
        try:
            panel.show(self.run, f"{code}\n{expression}")
        except InterruptedExecutionError:
            raise
        except (EtlabError, ValueError) as error:
            self._say(f"{panel.kind.title}: {error}", failed=True)
        else:
            self._say_done()

    def _say_done(self) -> None:
        self.progress.value, self.progress.bar_style = len(STAGES_OF_A_ROUND), "success"
        self._say(f"done: {self.run!r}")

    def _on_view(self, panel: Panel) -> None:
        self._selection.add(panel.kind.title, panel.view)
        if hasattr(panel.view, "rerun"):
            panel.view.observe(lambda _: self._adopt(panel), "code")

    def _adopt(self, panel: Panel) -> None:
        """A view has made a run of its own, with more layers in float: the next round."""
        view = panel.view
        if self.run is None or view.run is self.run:
            return
        self.run, self.report = view.run, view.report
        code = f"{without_report(self._lowered)}\n{view.code}"
        self.rounds.append(Round(len(self.rounds) + 1, view.run, view.report, code, 0.0))
        self._show()

    def _pick_baseline(self) -> None:
        """Offer the new round as a baseline; the first one is it until another is picked."""
        chosen = self.baseline.value
        self.baseline.options = [("none", 0), *((one.label, one.number) for one in self.rounds)]
        self.baseline.value = 1 if len(self.rounds) == 1 else chosen

    def _show_history(self) -> None:
        self.history.value = self.table._repr_html_() if self.rounds else ""

    def _say(self, text: str, *, failed: bool = False) -> None:
        if failed:
            self.progress.bar_style = "danger"
        prefix = "<b>Error</b> " if failed else ""
        self.status.value = (
            f'<span class="etlab-status" role="{"alert" if failed else "status"}" '
            f'aria-live="polite">{prefix}{markup.escape(text)}</span>'
        )

    def __repr__(self) -> str:
        """One line, the same for the same results."""
        last = repr(self.run) if self.run is not None else "nothing lowered yet"
        return f"Workbench({last})"

    def _ipython_display_(self) -> None:
        """Two outputs: a snapshot that stays in a saved notebook, then the live bench.

        A live page shows one of them: the bench brings the style rule that hides the snapshot.
        """
        self.snapshot.display(repr(self))
        bundle = self._repr_mimebundle_()
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        display({**(data or {}), "text/plain": repr(self)}, metadata=metadata, raw=True)
