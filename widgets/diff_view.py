"""`DiffView`: what differs between two programs: plan, operators, tensors, delegates, bytes."""

from collections import Counter
from typing import Any

from etlab.inspect.diff import SECTIONS, Difference, ProgramDiff
from etlab.inspect.diff_picture import change_text
from etlab.widgets._data_view import DataView, view_files


class DiffView(DataView):
    """The differences of two programs in a cell.

    Bars show the numbers of both, tables what differs section by section, and what is selected
    stands below line by line.

    `view.selection` holds differences as `section/method/what`, `view.rows` the same as rows.
    """

    _esm, _css = view_files("diff_view", styles=("view/chart", "diff_view"))
    report_type = ProgramDiff
    report_call = "etlab.diff(before, after)"

    @property
    def rows(self) -> tuple[Difference, ...]:
        """The differences that are selected."""
        chosen = set(self.selection)
        return tuple(row for name, row in self._named().items() if name in chosen)

    def _named(self) -> dict[str, Difference]:
        """Differences by what the page calls them; of equal names the later ones have a number."""
        found: dict[str, Difference] = {}
        seen: Counter[str] = Counter()
        for row in self.report.rows:
            name = f"{row.section}/{row.method}/{row.what}"
            seen[name] += 1
            found[name if seen[name] == 1 else f"{name} #{seen[name]}"] = row
        return found

    def _content(self) -> dict[str, Any]:
        found: ProgramDiff = self.report
        return {
            "title": f"{found.before} to {found.after}",
            "names": [found.before, found.after],
            "sections": [[name, len(found.section(name))] for name in SECTIONS],
            "rows": [
                [name, row.section, row.method, row.what, row.before, row.after]
                for name, row in self._named().items()
            ],
            "figures": [
                [one.section, one.method, one.what, one.before, one.after, change_text(one)]
                for one in found.figures
            ],
        }

    def _names(self) -> frozenset[str]:
        return frozenset(self._named())
