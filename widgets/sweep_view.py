"""`SweepView`: configurations as points, what is not beaten, what keeps bounds, what failed."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import traitlets

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.run import ExportRun
from etlab.sweeping import Sweep, SweepRow
from etlab.widgets._data_view import DataView, view_files
from etlab.widgets._job import Working


class SweepView(Working, DataView):
    """A sweep in a cell.

    Args:
        sweep: what to show; `etlab.sweep(…)` gives one.
        x: the objective to the right; the second by default.
        y: the objective upwards; the first by default.
        by: the objective that the best configuration is best in; the first by default.
        bounds: objective to the worst value that is good enough, in bytes or milliseconds.
        options: `height` and `theme`.

    Raises:
        NotFoundError: the sweep did not measure such an objective.

    `view.selection` holds configurations as texts, `view.rows` as rows of the sweep, `view.best` is
    the best one within the bounds. `view.export()` makes the run of one, `view.run` is the last.
    """

    _esm, _css = view_files("sweep_view", styles=("view/chart", "sweep_view"))
    report_type = Sweep
    report_call = "etlab.sweep(model, inputs, partitioners=…, quantizers=…)"

    x = traitlets.Unicode("").tag(sync=True)
    y = traitlets.Unicode("").tag(sync=True)
    by = traitlets.Unicode("").tag(sync=True)
    bounds = traitlets.Dict(value_trait=traitlets.Float()).tag(sync=True)
    exported = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        sweep: Sweep,
        *,
        x: str = "",
        y: str = "",
        by: str = "",
        bounds: Mapping[str, float] | None = None,
        **options: Any,
    ):
        """Show a sweep."""
        self.run: ExportRun | None = None
        super().__init__(sweep, **{"height": 780, **options})
        for name, value in (("x", x), ("y", y), ("by", by), ("bounds", dict(bounds or {}))):
            if value:
                setattr(self, name, value)
        self.observe(lambda _: self._say_code(), ["by", "bounds", "selection"])
        self._say_code()

    @property
    def rows(self) -> tuple[SweepRow, ...]:
        """The rows that are selected."""
        chosen = set(self.selection)
        return tuple(row for label, row in self._labelled().items() if label in chosen)

    @property
    def best(self) -> SweepRow:
        """The best row within the bounds.

        Raises:
            NotFoundError: no configuration keeps them.
        """
        sweep: Sweep = self.report
        return sweep.best(self._bounds_text(), by=self.by or None)

    def export(self, row: SweepRow | None = None) -> ExportRun:
        """The run of a configuration, which is `view.run` from then on.

        Args:
            row: which one; the first that is selected, or else the best within the bounds.

        Raises:
            InvalidArgumentError: the sweep was made without its model.
            EtlabError: as `etlab.export`.
        """
        chosen = row or next(iter(self.rows), None) or self.best
        run: ExportRun = self.report.export(chosen)
        self.run, self.exported = run, repr(run)
        return run

    def _labelled(self) -> dict[str, SweepRow]:
        """Rows by what the page calls them; of equal names the later ones have a number."""
        found: dict[str, SweepRow] = {}
        seen: Counter[str] = Counter()
        for row in self.report.rows:
            name = f"{row.partitioner}, {row.quantizer}"
            seen[name] += 1
            found[name if seen[name] == 1 else f"{name} #{seen[name]}"] = row
        return found

    def _content(self) -> dict[str, Any]:
        sweep: Sweep = self.report
        names = [one.name for one in sweep.objectives]
        self.exported = ""
        self.run = None
        second = names[min(1, len(names) - 1)]
        for trait, default in (("x", second), ("y", names[0]), ("by", names[0])):
            if getattr(self, trait) not in names:
                setattr(self, trait, default)
        self.bounds = {name: bound for name, bound in self.bounds.items() if name in names}
        front = {row.key for row in sweep.pareto.rows}
        return {
            "title": str(sweep).splitlines()[0],
            "notes": list(sweep.notes),
            "objectives": [
                {"name": one.name, "higher": one.higher_is_better, "unit": _unit(one)}
                for one in sweep.objectives
            ],
            "rows": [
                [
                    label,
                    row.partitioner,
                    row.quantizer,
                    "ok, front" if row.key in front else row.status,
                    row.reason,
                    [
                        [_number(row.values.get(one.name)), one.format(row.values.get(one.name))]
                        for one in sweep.objectives
                    ],
                ]
                for label, row in self._labelled().items()
            ],
        }

    def _bounds_text(self) -> str:
        """Bounds as `Sweep.best` reads them."""
        sweep: Sweep = self.report
        parts = [
            f"{one.name}{'>=' if one.higher_is_better else '<='}{self.bounds[one.name]!r}"
            for one in sweep.objectives
            if one.name in self.bounds
        ]
        return " and ".join(parts)

    def _say_code(self) -> None:
        self.code = self._code()

    def _code(self) -> str:
        bounds, first = self._bounds_text(), self.report.objectives[0].name
        given = [repr(bounds)] if bounds else []
        given += [f"by={self.by!r}"] if self.by not in ("", first) else []
        row = f"sweep.best({', '.join(given)})"
        if self.rows:
            row = f"sweep.rows[{self.report.rows.index(self.rows[0])}]"
        return f"sweep = {self.report_call}\nrun = sweep.export({row})"

    def _names(self) -> frozenset[str]:
        return frozenset(self._labelled())

    def _reply(self, question: Mapping[str, Any]) -> dict[str, Any]:
        kind = question["type"]
        if kind == "export":
            row = self._labelled().get(str(question.get("row")))
            if row is None:
                raise InvalidArgumentError(f"the sweep has no row {question.get('row')!r}")
            self.start(self.export, row)
        elif kind == "stop":
            self.stop()
        else:
            return super()._reply(question)
        return {}

    @traitlets.validate("x", "y", "by")
    def _check_objective(self, proposal: Any) -> str:
        return str(self.report.objective(str(proposal["value"])).name)

    @traitlets.validate("bounds")
    def _check_bounds(self, proposal: Any) -> dict[str, float]:
        bounds: dict[str, float] = proposal["value"]
        for name, bound in bounds.items():
            self.report.objective(name)
            if not math.isfinite(bound):
                raise NotFoundError(f"bounds: {name} has no value {bound}")
        return bounds

    def __repr__(self) -> str:
        """One line, the same for the same sweep."""
        return f"SweepView({str(self.report).splitlines()[0]})"


def _unit(objective: Any) -> str:
    """As the page's axes write it."""
    if objective.unit == "bytes":
        return "B"
    return str(objective.unit) or ("dB" if objective.name.endswith("_db") else "")


def _number(value: float | None) -> float | str | None:
    """A number that JSON can carry."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
