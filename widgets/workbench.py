"""`Workbench`: pick a partitioner and a quantizer, lower, run, and see what changed."""

import contextlib
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import ipywidgets
import torch
from IPython.display import HTML, DisplayHandle, display

import etlab
from etlab import display as markup
from etlab.arguments import as_arguments, check_model
from etlab.choices import Choices
from etlab.errors import EtlabError, InterruptedExecutionError, NotFoundError
from etlab.numerics import ParityReport, metric
from etlab.run import ExportRun, StageListener, listen

# Stages of one round, for the progress bar; others are shown by name and do not move it.
_ROUND = (
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


class Workbench(ipywidgets.VBox):
    """The whole bench in a cell.

    Args:
        model: a module in eval mode; it is not changed.
        inputs: example inputs: a tensor or a tuple of arguments.
        calibration: samples for quantizers and parity (a list of tuples); the example by default.
        partitioner: what the picker shows first.
        quantizer: what the picker shows first.
        name: what reports call the model.

    Raises:
        InvalidArgumentError: `model` is no module, or there are no inputs.
        NotFoundError: a picker has no such choice.

    `bench.run` and `bench.report` are the last results, for the next cell.
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
    ) -> None:
        """Build the bench; nothing is lowered before the button or `lower_and_run()`."""
        self._model = check_model(model, "Workbench")
        self._inputs = as_arguments(inputs, "Workbench")
        self._calibration, self._name = calibration, name
        self.run: ExportRun | None = None
        self.report: ParityReport | None = None
        self._history: list[list[str]] = []
        self._stop = threading.Event()
        self._worker: threading.Thread | None = None
        self._snapshots: list[DisplayHandle] = []
        self._snapshot_class = f"etlab-snapshot-{uuid.uuid4().hex[:8]}"
        self.partitioner = _picker(
            "Partitioner", etlab.list_partitioners(), partitioner, "who runs parts of the graph"
        )
        self.quantizer = _picker(
            "Quantizer", etlab.list_quantizers(), quantizer, "how the model is made smaller"
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
            min=0, max=len(_ROUND), description="Progress", layout={"width": "260px"}
        )
        self.status = ipywidgets.HTML()
        self.results = ipywidgets.HTML()
        self._say("ready")
        self.lower_button.on_click(lambda _: self.start())
        self.stop_button.on_click(lambda _: self.stop())
        hide = ipywidgets.HTML(f"<style>.{self._snapshot_class} {{display: none}}</style>")
        super().__init__(
            [
                ipywidgets.HBox([self.partitioner, self.quantizer], layout={"flex_flow": "wrap"}),
                ipywidgets.HBox(
                    [self.lower_button, self.stop_button, self.progress, self.status],
                    layout={"flex_flow": "wrap"},
                ),
                self.results,
                hide,
            ]
        )

    @property
    def code(self) -> str:
        """The Python that does what the button does."""
        choices = ""
        if self.partitioner.value != "none":
            choices += f", partitioner={self.partitioner.value!r}"
        if self.quantizer.value != "none":
            choices += f", quantizer={self.quantizer.value!r}"
        return f"run = etlab.export(model, inputs{choices})\nrun.parity()"

    def start(self) -> None:
        """What *Lower & run* does: a round in a thread of its own, so the kernel stays free."""
        if self._worker is not None and self._worker.is_alive():
            return
        self._worker = threading.Thread(
            target=self.lower_and_run, name="etlab-workbench", daemon=True
        )
        self._worker.start()

    def stop(self) -> None:
        """Ask the running round to end: between stages, or inside native code."""
        self._stop.set()
        self._say("stopping …")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for a started round; whether it ended in time."""
        if self._worker is not None:
            self._worker.join(timeout)
        return self._worker is None or not self._worker.is_alive()

    def lower_and_run(self) -> None:
        """One round, in this thread: export, run, compare, show. Errors become the status line."""
        with self._busy():
            try:
                run = etlab.export(
                    self._model,
                    self._inputs,
                    partitioner=self.partitioner.value,
                    quantizer=self.quantizer.value,
                    calibration=self._calibration,
                    name=self._name,
                )
                report = run.parity()
            except InterruptedExecutionError:
                self._say("stopped; the results below are those of the last whole round")
                return
            except EtlabError as error:
                self._say(str(error), failed=True)
                return
            except Exception as error:
                self._say(f"{type(error).__name__}: {error}", failed=True)
                return
            self.run, self.report = run, report
            self._show()

    @contextlib.contextmanager
    def _busy(self) -> Iterator[None]:
        self._stop.clear()
        self.lower_button.disabled, self.stop_button.disabled = True, False
        self.progress.value, self.progress.bar_style = 0, "info"
        listener = StageListener(
            on_start=self._on_stage, should_stop=self._stop.is_set, on_part=self._on_part
        )
        try:
            with listen(listener):
                yield
        finally:
            self.lower_button.disabled, self.stop_button.disabled = False, True

    def _on_stage(self, stage: str) -> None:
        if stage in _ROUND:
            self.progress.value = max(self.progress.value, _ROUND.index(stage))
        self._say(f"{stage} …")

    def _on_part(self, stage: str, done: int, total: int | None) -> None:
        self._say(f"{stage} {done + 1}" + ("" if total is None else f" of {total}") + " …")

    def _show(self) -> None:
        assert self.run is not None
        assert self.report is not None
        self._history.append(_history_row(len(self._history) + 1, self.run, self.report))
        self.results.value = self._results_html()
        self.progress.value, self.progress.bar_style = len(_ROUND), "success"
        self._say(f"done: {self.run!r}")
        for handle in self._snapshots:
            handle.update(HTML(self._snapshot_html()))

    def _say(self, text: str, *, failed: bool = False) -> None:
        if failed:
            self.progress.bar_style = "danger"
        prefix = "<b>Error</b> " if failed else ""
        self.status.value = (
            f'<span class="etlab-status" role="{"alert" if failed else "status"}" '
            f'aria-live="polite">{prefix}{markup.escape(text)}</span>'
        )

    def _results_html(self) -> str:
        if self.run is None or self.report is None:
            return ""
        history = markup.table(
            ["round", "partitioner", "quantizer", "file", "planned memory", "native SQNR (dB)"],
            self._history,
            numeric=["round", "file", "planned memory", "native SQNR (dB)"],
            caption="rounds of this bench",
        )
        parts = [
            self.report._repr_html_(),
            self.run.delegation()._repr_html_(),
            self.run.memory_plan()._repr_html_(),
            history,
        ]
        code = f"<pre>{markup.escape(self.code)}</pre>"
        return "".join(parts) + markup.details("the same in Python", code)

    def _snapshot_html(self) -> str:
        """What a saved notebook shows where no kernel draws the bench."""
        body = self._results_html() or markup.card(
            "Workbench", "Run this cell in a live notebook to pick, lower and compare."
        )
        return f'<div class="{self._snapshot_class}">{body}</div>'

    def __repr__(self) -> str:
        """One line, the same for the same results."""
        last = repr(self.run) if self.run is not None else "nothing lowered yet"
        return f"Workbench({last})"

    def _ipython_display_(self) -> None:
        """Two outputs: a snapshot that stays in a saved notebook, then the live bench.

        A live page shows one of them: the bench brings the style rule that hides the snapshot.
        """
        handle = display(
            {"text/html": self._snapshot_html(), "text/plain": repr(self)},
            raw=True,
            display_id=True,
        )
        if handle is not None:
            self._snapshots.append(handle)
        bundle = self._repr_mimebundle_()
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        display({**(data or {}), "text/plain": repr(self)}, metadata=metadata, raw=True)


def _picker(label: str, choices: Choices, value: str, tooltip: str) -> ipywidgets.Dropdown:
    if value not in choices.names:
        raise NotFoundError(
            f"Workbench: no {label.lower()} is called {value!r}: choose from"
            f" {', '.join(choices.names)}"
        )
    return ipywidgets.Dropdown(
        options=[(choice.name, choice.name) for choice in choices],
        value=value,
        description=label,
        tooltip=f"{label}: {tooltip}",
        layout={"width": "260px"},
    )


def _history_row(number: int, run: ExportRun, report: ParityReport) -> list[str]:
    row = next((row for row in report.rows if row.path == "native"), None)
    sqnr = row.values.get("sqnr_db") if row is not None and row.status == "ok" else None
    return [
        str(number),
        run.partitioner,
        run.quantizer,
        f"{len(run.file.data):,} B",
        f"{run.memory_plan().peak:,} B",
        metric("sqnr_db").format(sqnr),
    ]
