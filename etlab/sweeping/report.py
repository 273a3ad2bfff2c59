"""`Sweep`: what every configuration came to, which are not dominated, and which is best."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from etlab import display
from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.sweeping.bounds import read_bounds
from etlab.sweeping.objectives import Objective

if TYPE_CHECKING:
    import pandas

    from etlab.run import ExportRun

Status = Literal["ok", "failed", "not run"]


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One configuration.

    Attributes:
        key: digest of all that its values depend on.
        partitioner: as text; a name goes to `etlab.export` as it is.
        quantizer: as text; likewise.
        status: "ok"; "failed" with a reason; "not run" where the sweep was stopped before.
        reason: why there are no values.
        seconds: that it took to measure.
        values: objective to value; None where one says nothing about such data.
        is_cached: whether it was read from the file.
    """

    key: str = field(repr=False)
    partitioner: str
    quantizer: str
    status: Status
    reason: str = ""
    seconds: float = field(repr=False, default=0.0)
    values: Mapping[str, float | None] = field(default_factory=dict)
    is_cached: bool = field(repr=False, default=False)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Configurations by objectives, in the order of the grid.

    Attributes:
        model: its name.
        objectives: what was measured; the first is what `best` looks for.
        rows: one a configuration.
        data: what was judged on, in words.
        file: the Parquet file that keeps the results.
        notes: what the reader should know before trusting the numbers.
    """

    model: str
    objectives: tuple[Objective, ...]
    rows: tuple[SweepRow, ...]
    data: str
    file: Path
    notes: tuple[str, ...] = ()
    _open: Callable[[str], "ExportRun"] | None = field(default=None, repr=False, compare=False)

    @property
    def is_complete(self) -> bool:
        """Whether every configuration was tried."""
        return all(row.status != "not run" for row in self.rows)

    @property
    def failures(self) -> tuple[SweepRow, ...]:
        """The configurations that failed, each with its reason."""
        return tuple(row for row in self.rows if row.status == "failed")

    @property
    def pareto(self) -> "Sweep":
        """The configurations that no other one beats: as good in all objectives, better in one.

        A row without a value of every objective is not among them.
        """
        whole = [row for row in self.rows if self._is_whole(row)]
        front = [row for row in whole if not any(self._dominates(other, row) for other in whole)]
        return replace(self, rows=tuple(front))

    def best(self, bounds: str = "", *, by: str | None = None) -> SweepRow:
        """The configuration that is best in one objective among those within bounds.

        Of several that are equal, the one that is best in the others in turn.

        Args:
            bounds: such as `"size<4MB"` or `"size<4MB and latency<=5ms"`; sizes in bytes, kB, MB,
                GB, KiB, MiB or GiB, times in us, ms or s.
            by: an objective; the first one by default.

        Raises:
            InvalidArgumentError: the bounds cannot be read.
            NotFoundError: an objective was not measured, or no configuration keeps the bounds.
        """
        limits = read_bounds(bounds, self.objectives)
        first = self.objective(by) if by is not None else self.objectives[0]
        order = [first, *(one for one in self.objectives if one is not first)]
        found: SweepRow | None = None
        for row in self.rows:
            if not all(limit.holds(row.values) for limit in limits):
                continue
            if _known(row, first) and (found is None or _precedes(row, found, order)):
                found = row
        if found is None:
            tells = "; ".join(self._extreme(limit.name) for limit in limits)
            raise NotFoundError(
                f"best: no configuration of {len(self.rows)} keeps {bounds or 'a value'}"
                + (f"; best are {tells}" if tells else "; see the reasons in .failures")
            )
        return found

    def export(self, row: SweepRow | None = None) -> "ExportRun":
        """Export a configuration once more, to look at or to save.

        Args:
            row: which one; the best by default.

        Raises:
            InvalidArgumentError: the sweep was not made by `etlab.sweep`, or has no such row.
            EtlabError: as `etlab.export`.
        """
        chosen = self.best() if row is None else row
        if self._open is None:
            raise InvalidArgumentError("this sweep was made without its model: use etlab.sweep()")
        if all(one.key != chosen.key for one in self.rows):
            raise InvalidArgumentError("export: this row is of another sweep")
        return self._open(chosen.key)

    def widget(self, **options: Any) -> Any:
        """A `SweepView` of this sweep; see there for the options."""
        return display.view_of(self, "SweepView", **options)

    def objective(self, name: str) -> Objective:
        """The objective of this name.

        Raises:
            NotFoundError: it was not measured.
        """
        for one in self.objectives:
            if one.name == name:
                return one
        names = ", ".join(one.name for one in self.objectives)
        raise NotFoundError(f"this sweep did not measure '{name}', only {names}")

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a configuration: sizes in bytes, times in milliseconds."""
        import pandas

        names = [one.name for one in self.objectives]
        rows = [
            [row.partitioner, row.quantizer, *map(row.values.get, names), row.status, row.reason]
            for row in self.rows
        ]
        columns = ["partitioner", "quantizer", *names, "status", "reason"]
        frame = pandas.DataFrame(rows, columns=columns)
        return frame.astype(
            {one.name: "Int64" if one.unit == "bytes" else "float64" for one in self.objectives}
        )

    def to_svg(self) -> str:
        """The first two objectives as a scatter, the Pareto front marked; empty for one."""
        from etlab.sweeping.picture import draw_front

        return draw_front(self)

    def _is_whole(self, row: SweepRow) -> bool:
        return row.status == "ok" and all(_known(row, one) for one in self.objectives)

    def _dominates(self, left: SweepRow, right: SweepRow) -> bool:
        pairs = [(one, *_pair(left, right, one)) for one in self.objectives]
        return not any(one.is_better(there, here) for one, here, there in pairs) and any(
            one.is_better(here, there) for one, here, there in pairs
        )

    def _extreme(self, name: str) -> str:
        """The best value of an objective, for a message."""
        one = self.objective(name)
        known = [row for row in self.rows if _known(row, one)]
        if not known:
            return f"no {name} at all"
        values = [row.values[name] or 0.0 for row in known]
        value = max(values) if one.higher_is_better else min(values)
        return f"{name} {one.format(value)}"

    def _cells(self) -> list[list[str]]:
        front = {row.key for row in self.pareto.rows}
        return [
            [
                row.partitioner,
                row.quantizer,
                *(one.format(row.values.get(one.name)) for one in self.objectives),
                row.status if row.key not in front else "ok, front",
                row.reason,
            ]
            for row in self.rows
        ]

    def _columns(self) -> list[str]:
        return ["partitioner", "quantizer", *(o.name for o in self.objectives), "status", "reason"]

    def _title(self) -> str:
        counts = [
            f"{count} {status}"
            for status in ("ok", "failed", "not run")
            if (count := sum(row.status == status for row in self.rows))
        ]
        return f"{self.model}: {', '.join(counts) or 'no configuration'}; on {self.data}"

    def __str__(self) -> str:
        """A text table."""
        table = display.text_table(self._columns(), self._cells())
        return "\n".join([self._title(), table, *(f"note: {text}" for text in self.notes)])

    def __repr__(self) -> str:
        """The text table: what a front end without HTML shows."""
        return str(self)

    def _repr_html_(self) -> str:
        names = [one.name for one in self.objectives]
        table = display.table(self._columns(), self._cells(), numeric=names)
        svg = self.to_svg()
        words = f"{' against '.join(names[:2])}, the Pareto front marked"
        picture = display.svg_image(svg, alternative=words, width=640) if svg else ""
        notes = [display.note(text) for text in self.notes]
        return display.card("Sweep", *notes, picture, table, subtitle=self._title())


def _known(row: SweepRow, objective: Objective) -> bool:
    value = row.values.get(objective.name)
    return value is not None and not math.isnan(value)


def _pair(left: SweepRow, right: SweepRow, objective: Objective) -> tuple[float, float]:
    here, there = left.values[objective.name], right.values[objective.name]
    assert here is not None
    assert there is not None
    return here, there


def _precedes(left: SweepRow, right: SweepRow, order: Sequence[Objective]) -> bool:
    """Whether `left` is better in the first objective in which the two differ."""
    for one in order:
        if not (_known(left, one) and _known(right, one)):
            if _known(left, one) != _known(right, one):
                return _known(left, one)
            continue
        here, there = _pair(left, right, one)
        if here != there:
            return one.is_better(here, there)
    return False
