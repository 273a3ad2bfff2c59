"""The tabs of a bench: each shows one report of the round, in its view where there is one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ipywidgets

from etlab.run import ExportRun
from etlab.widgets import find_view, view_names
from etlab.widgets.code_view import CodeView


@dataclass(frozen=True, slots=True)
class Kind:
    """What a tab shows.

    Attributes:
        title: of the tab.
        view: name of the view; a tab shows the report's static face while there is none.
        code: the Python that gives the report.
        make: gives it.
    """

    title: str
    view: str
    code: str
    make: Callable[[ExportRun], Any]


def kinds(paths: list[str]) -> tuple[Kind, ...]:
    """The tabs, in order; `paths` are those that parity compares."""

    def parity(run: ExportRun) -> Any:
        return run.parity(paths=[one for one in paths if one in run.paths])

    return (
        Kind("Graph", "GraphView", "run.graph()", lambda run: run.graph()),
        Kind("Delegation", "DelegationView", "run.delegation()", lambda run: run.delegation()),
        Kind("Memory", "MemoryPlanView", "run.memory_plan()", lambda run: run.memory_plan()),
        Kind("Parity", "ParityView", "run.parity(…)", parity),
        Kind("Profile", "ProfileView", "run.profile()", lambda run: run.profile(runs=10)),
        Kind("Size", "SizeView", "run.size()", lambda run: run.size()),
    )


class Panel(ipywidgets.VBox):
    """One tab.

    Args:
        kind: what it shows.
        on_view: called with the panel when it has a new view.

    Attributes:
        report: what is shown; None before the first round.
        view: the widget that shows it.
        is_stale: a newer round has not been shown yet.
    """

    def __init__(self, kind: Kind, on_view: Callable[["Panel"], None]) -> None:
        self.kind, self._on_view = kind, on_view
        self.report: Any = None
        self.view: Any = None
        self.is_stale = False
        self.code = CodeView(kind.code)
        self._empty = ipywidgets.HTML("<p>Press <i>Lower &amp; run</i> first.</p>")
        super().__init__([self._empty])

    def show(self, run: ExportRun, code: str) -> None:
        """Make the report of a run and show it; the view keeps what was selected in it."""
        report = self.kind.make(run)
        view = self._view_of(report)
        self.report, self.is_stale = report, False
        self.code.code = code
        if view is not self.view:
            self.view = view
            self._on_view(self)
        own = () if hasattr(view, "code") else (self.code,)  # a view has a button of its own
        if hasattr(view, "report_type"):
            view.code = code
        self.children = (view, *own)

    def _view_of(self, report: Any) -> Any:
        """The view that is there with the new report, or a new one."""
        old = self.view
        if self.kind.view not in view_names():
            html = old if isinstance(old, ipywidgets.HTML) else ipywidgets.HTML()
            html.value = report._repr_html_()
            return html
        view_class: Any = find_view(self.kind.view)
        if isinstance(old, view_class) and hasattr(view_class, "report"):
            old.report = report
            return old
        view = view_class(report)
        if isinstance(old, view_class):
            _carry_over(old, view)
        return view


def _carry_over(old: Any, new: Any) -> None:
    """What the user set in a graph's view stays when the graph changes."""
    places = new.data.places
    groups = {group.name for group in new.data.groups}
    new.query, new.height, new.theme = old.query, old.height, old.theme
    new.selection = [name for name in old.selection if name in places or name in groups]
    if old.color_by in ("none", "backend", "dtype", "operator", "bytes"):
        new.color_by = old.color_by
