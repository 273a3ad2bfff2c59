"""`SizeView`: what fills a program's files, as a treemap and a table; two files side by side."""

from collections import Counter
from typing import Any

from etlab.errors import InvalidArgumentError
from etlab.inspect.size import SizeReport
from etlab.inspect.size_picture import kind_colours
from etlab.widgets._data_view import DataView, view_files


class SizeView(DataView):
    """The size of a program in a cell: areas are bytes.

    Args:
        report: what to show; `run.size()` or `etlab.load(path).size()` gives one.
        baseline: the size of another program, whose bytes stand beside.
        options: `height`, `theme`.

    Raises:
        InvalidArgumentError: a report is of another kind.

    `view.selection` holds names of constants, and for other parts their kind and name
    ("delegate XnnpackBackend (2)").
    """

    _esm, _css = view_files("size_view", styles=("view/chart", "size_view"))
    report_type = SizeReport
    report_call = "run.size()"

    def __init__(
        self, report: SizeReport, *, baseline: SizeReport | None = None, **options: Any
    ) -> None:
        self._baseline = self._checked(baseline)
        super().__init__(report, **options)

    @property
    def baseline(self) -> SizeReport | None:
        """The size that stands beside; setting it shows another one."""
        return self._baseline

    @baseline.setter
    def baseline(self, report: SizeReport | None) -> None:
        self._baseline = self._checked(report)
        self._refresh()

    def _checked(self, report: Any) -> SizeReport | None:
        if report is not None and not isinstance(report, SizeReport):
            raise InvalidArgumentError(
                f"SizeView: `baseline` is a {type(report).__name__}; run.size() gives a SizeReport"
            )
        return report

    def _code(self) -> str:
        if self._baseline is None:
            return f"report = {self.report_call}\nreport.widget()"
        return (
            f"report = {self.report_call}\n"
            "baseline = other_run.size()\n"
            "report.widget(baseline=baseline)"
        )

    def _names(self) -> frozenset[str]:
        return frozenset(entry["key"] for entry in _entries(self.report))

    def _content(self) -> dict[str, Any]:
        baseline = self._baseline
        return {
            "title": self.report.title,
            "total": self.report.total,
            "entries": _entries(self.report),
            "colours": kind_colours(),
            "before": None
            if baseline is None
            else {
                "title": baseline.title,
                "total": baseline.total,
                "entries": _entries(baseline),
            },
        }

    def _title(self) -> str:
        return f"Size of {self.report.title}"


def _entries(report: SizeReport) -> list[dict[str, Any]]:
    """The parts with keys that tell them apart; a constant's path are the parts of its name."""
    seen: Counter[str] = Counter()
    found = []
    for entry in report.entries:
        is_path = entry.kind in ("constant", "state") or "." in entry.name
        is_named = entry.name and is_path
        key = entry.name if is_named else f"{entry.kind} {entry.name}".strip()
        seen[key] += 1
        if seen[key] > 1:
            key = f"{key} ({seen[key]})"
        found.append(
            {
                "key": key,
                "kind": entry.kind,
                "path": key.split(".") if is_named else [key],
                "dtype": entry.dtype,
                "shape": " x ".join(map(str, entry.shape)),
                "nbytes": entry.nbytes,
                "readers": entry.operators,
            }
        )
    return found
