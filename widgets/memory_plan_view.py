"""`MemoryPlanView`: where every tensor lies and for how long, and what other planning would do."""

from collections.abc import Mapping
from typing import Any

from etlab.errors import InvalidArgumentError
from etlab.inspect.memory import MemoryReport
from etlab.inspect.memory_columns import plan_columns, planners_for
from etlab.inspect.memory_use import MemoryUse
from etlab.widgets._data_view import DataView, view_files

_ALIGNMENTS = (1, 4, 16, 32, 64, 128, 256, 4096)
_KEPT_TERMS = (
    "constants in the file",
    "delegate workspace",
    "packed weights",
    "delegate buffers",
    "temporary",
)


class MemoryPlanView(DataView):
    """A memory plan in a cell: time to the right, bytes upwards, one rectangle a tensor.

    Args:
        report: what to show; `run.memory_plan()` gives one.
        use: what the runtime took, from `run.memory()`; delegates' memory is drawn beside the plan.
        color_by: "operator", "module", "dtype" or "lifetime".
        options: `height`, `theme`.

    Raises:
        InvalidArgumentError: the report is of another kind, or there is no such colouring.

    `view.selection` holds names of tensors. `view.shown` is the plan in sight: that of the report,
    or what `view.replan(planner=…)` and the pickers made of it.
    """

    _esm, _css = view_files("memory_plan_view", styles=())
    report_type = MemoryReport
    report_call = "run.memory_plan()"

    def __init__(
        self,
        report: MemoryReport,
        *,
        use: MemoryUse | None = None,
        color_by: str = "operator",
        **options: Any,
    ) -> None:
        if use is not None and not isinstance(use, MemoryUse):
            raise InvalidArgumentError(
                f"MemoryPlanView: `use` is a {type(use).__name__}; run.memory() gives a MemoryUse"
            )
        choices = ("operator", "module", "dtype", "lifetime")
        if color_by not in choices:
            raise InvalidArgumentError(
                f"MemoryPlanView: no colouring {color_by!r}; choose from {', '.join(choices)}"
            )
        self._use, self._color_by = use, color_by
        self._other: MemoryReport | None = None
        super().__init__(report, **options)

    @property
    def shown(self) -> MemoryReport:
        """The plan in sight."""
        shown: MemoryReport = self._other or self.report
        return shown

    def replan(self, planner: str | None = None, alignment: int | None = None) -> MemoryReport:
        """Show the same tensors with another planner or alignment; without either, as they are.

        Raises:
            InvalidArgumentError: the alignment is no power of two.
            NotFoundError: there is no such planner.
        """
        plan = self.report.plan
        is_same = planner in (None, plan.planner) and alignment in (None, plan.alignment)
        self._other = None if is_same else self.report.replanned(planner, alignment)
        self._refresh(keep_plan=True)
        return self.shown

    def _refresh(self, *, keep_plan: bool = False) -> None:
        if not keep_plan:
            self._other = None
        super()._refresh()

    def _code(self) -> str:
        if self._other is None:
            return f"report = {self.report_call}\nreport.widget()"
        plan = self._other.plan
        return (
            f"report = {self.report_call}\n"
            f"report.replanned({plan.planner!r}, alignment={plan.alignment}).widget()"
        )

    def _names(self) -> frozenset[str]:
        return frozenset(tensor.name for tensor in self.report.plan.tensors)

    def _reply(self, question: Mapping[str, Any]) -> dict[str, Any]:
        if question["type"] == "replan":
            self.replan(str(question["planner"]), int(question["alignment"]))
            return {}
        if question["type"] == "what if":
            table = self.report.what_if(alignments=(int(question["alignment"]),))
            return {
                "rows": [
                    [row.planner, row.nbytes, row.nbytes / max(row.lower_bound, 1) - 1]
                    for row in table.rows
                ]
            }
        return super()._reply(question)

    def _content(self) -> dict[str, Any]:
        report, plan = self.shown, self.shown.plan
        original = self.report.plan
        return {
            "title": f"{report.model}, {plan.method}",
            **plan_columns(plan),
            "arenas": [
                {
                    "id": arena.memory_id,
                    "name": arena.name,
                    "nbytes": arena.nbytes,
                    "bound": arena.lower_bound,
                    "capacity": arena.capacity,
                }
                for arena in report.arenas
            ],
            "lanes": self._lanes(),
            "peak": report.peak,
            "bound": report.lower_bound,
            "fragmentation": report.fragmentation,
            "peakStep": report.peak_step,
            "planner": plan.planner,
            "alignment": plan.alignment,
            "planners": planners_for(original),
            "alignments": sorted({*_ALIGNMENTS, original.alignment}),
            "before": {"peak": original.peak, "planner": original.planner},
            "colourBy": self._color_by,
            "advice": [[one.tensor, one.saves, one.text] for one in report.advice[:20]],
        }

    def _lanes(self) -> list[list[Any]]:
        """What lies in memory all the time beside the plan: name, bytes."""
        terms = {"constants in the file": self.report.constants}
        if self._use is not None:
            terms |= {term.name: term.nbytes for term in self._use.terms}
        return [[name, terms[name]] for name in _KEPT_TERMS if terms.get(name)]

    def _snapshot_html(self) -> str:
        return self.shown._repr_html_()

    def to_svg(self) -> str:
        """The picture of the plan in sight."""
        return self.shown.to_svg()

    def _title(self) -> str:
        return f"Memory plan of {self.report.model}"
