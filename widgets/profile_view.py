"""`ProfileView`: where the time of a run goes, in order of execution or by what is shared."""

from typing import Any

from etlab.errors import InvalidArgumentError
from etlab.inspect.profile import ProfileReport
from etlab.inspect.profile_columns import profile_columns
from etlab.widgets._data_view import DataView, view_files

_GROUPINGS = ("node", "operator", "module", "source", "backend")


class ProfileView(DataView):
    """A profile in a cell: a timeline of instructions and what runs inside of delegates.

    Args:
        report: what to show; `run.profile()` gives one.
        baseline: another profile, whose times stand beside.
        by: "node", "operator", "module", "source" or "backend": the rows of the table.
        options: `height`, `theme`.

    Raises:
        InvalidArgumentError: a report is of another kind, or there is no such grouping.

    `view.selection` holds names of nodes, as `report.rows` has them; those without a "/" are nodes
    of the lowered graph. `graph_view.overlay(report)` colours a graph by the same times.
    """

    _esm, _css = view_files("profile_view", styles=("view/chart",))
    report_type = ProfileReport
    report_call = "run.profile()"

    def __init__(
        self,
        report: ProfileReport,
        *,
        baseline: ProfileReport | None = None,
        by: str = "node",
        **options: Any,
    ) -> None:
        if by not in _GROUPINGS:
            raise InvalidArgumentError(
                f"ProfileView: no grouping {by!r}; choose from {', '.join(_GROUPINGS)}"
            )
        self._by = by
        self._baseline = self._checked(baseline)
        super().__init__(report, **options)

    @property
    def baseline(self) -> ProfileReport | None:
        """The profile whose times stand beside; setting it shows another one."""
        return self._baseline

    @baseline.setter
    def baseline(self, report: ProfileReport | None) -> None:
        self._baseline = self._checked(report)
        self._refresh()

    def _checked(self, report: Any) -> ProfileReport | None:
        if report is not None and not isinstance(report, ProfileReport):
            raise InvalidArgumentError(
                f"ProfileView: `baseline` is a {type(report).__name__}; run.profile() gives a"
                " ProfileReport"
            )
        return report

    def _code(self) -> str:
        if self._baseline is None:
            return f"report = {self.report_call}\nreport.widget(by={self._by!r})"
        return (
            f"report = {self.report_call}\n"
            "baseline = other_run.profile()\n"
            f"report.widget(by={self._by!r}, baseline=baseline)"
        )

    def _names(self) -> frozenset[str]:
        return frozenset(row.node for row in self.report.rows)

    def _content(self) -> dict[str, Any]:
        baseline = self._baseline
        return {
            "by": self._by,
            "report": profile_columns(self.report),
            "baseline": None if baseline is None else profile_columns(baseline),
        }

    def _title(self) -> str:
        return f"Profile of {self.report.model}"
