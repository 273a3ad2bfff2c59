"""`ParityReport`: what every path computed, against one reference, on which data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from etlab import display
from etlab.errors import EtlabError, InvalidArgumentError
from etlab.numerics.divergence import Divergence
from etlab.numerics.layer_report import LayerReport
from etlab.numerics.layers import Coverage
from etlab.numerics.metrics import all_metrics, metric

if TYPE_CHECKING:
    import pandas

Status = Literal["ok", "failed", "absent", "not applicable"]
_NEVER_RAN = ("absent", "not applicable")


class ParityError(EtlabError, AssertionError):
    """A comparison missed its bounds, or could not be made."""


@dataclass(frozen=True, slots=True)
class ParityRow:
    """One output of one path.

    Attributes:
        path: how it was computed.
        output: its name or place; empty when the path gave no outputs.
        status: "ok"; "failed" with a reason; "absent" where this environment has no such path; "not
            applicable" where the path cannot have what this program needs.
        reason: why there are no numbers.
        values: metric name to value; None where a metric says nothing about such data.
        worst_sample: place of the sample with the lowest first metric, for several samples.
    """

    path: str
    output: str
    status: Status = "ok"
    reason: str = ""
    values: dict[str, float | None] = field(default_factory=dict)
    worst_sample: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """How a report came to be.

    Attributes:
        run: what was compared.
        inputs: as `run.parity()` got them.
        options: its other arguments.
    """

    run: Any
    inputs: Any
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ParityReport:
    """Paths by outputs, compared with one reference.

    Attributes:
        model: name of the model.
        reference: the path that the others are compared with.
        metrics: names of the metrics, in order.
        rows: one a path and output.
        data: what the inputs were, in words.
        samples: how many samples were compared.
        warnings: what the reader should know before trusting the numbers.
        noise_floor: what the reference is from itself in a second run, by metric; empty when that
            was not asked.
        layers: every operator on every path; None when they were not compared.
        origin: the run and the arguments that it was made of; None for a part of a comparison.
    """

    model: str
    reference: str
    metrics: tuple[str, ...]
    rows: tuple[ParityRow, ...]
    data: str
    samples: int
    warnings: tuple[str, ...] = ()
    noise_floor: Mapping[str, float | None] = field(default_factory=dict)
    layers: LayerReport | None = field(default=None, repr=False)
    origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def coverage(self) -> tuple[Coverage, ...]:
        """How many operators of each path were compared, and why the others were not."""
        return self._layers.coverage

    @property
    def first_divergence(self) -> Divergence | None:
        """The first operator that computes something else than the reference; None for none."""
        return self._layers.first_divergence()

    def worst(self, n: int = 5, *, path: str | None = None, local: bool = True) -> LayerReport:
        """The `n` operators that are farthest from the reference; see `LayerReport.worst`."""
        return self._layers.worst(n, path=path, local=local)

    def again(self, run: Any = None, **changes: Any) -> "ParityReport":
        """The same comparison once more.

        Args:
            run: of this `ExportRun`; of the same one by default.
            **changes: other arguments of `run.parity()`, such as `reference="quantized"`.

        Raises:
            InvalidArgumentError: the report was made without a run.
            EtlabError: as `run.parity()`.
        """
        if self.origin is None:
            raise InvalidArgumentError("this report was made without its run: use run.parity()")
        options = {"inputs": self.origin.inputs, **self.origin.options, **changes}
        report: ParityReport = (run or self.origin.run).parity(**options)
        return report

    def widget(self, **options: Any) -> Any:
        """A `ParityView` of this report; see there for the options."""
        return display.view_of(self, "ParityView", **options)

    @property
    def _layers(self) -> LayerReport:
        if self.layers is None:
            raise InvalidArgumentError(
                "this report compares outputs only; operators are compared by run.parity() with a"
                f" reference that PyTorch runs, not '{self.reference}'"
            )
        return self.layers

    def row(self, path: str, output: str | int = 0) -> ParityRow:
        """The row of `path` for an output, by name or place.

        Raises:
            InvalidArgumentError: the report has no such row.
        """
        rows = [row for row in self.rows if row.path == path]
        for place, row in enumerate(rows):
            if output in (place, row.output):
                return row
        raise InvalidArgumentError(
            f"parity: no row for path '{path}' and output {output!r}; there are "
            + ", ".join(f"{row.path}/{row.output}" for row in self.rows)
        )

    def check(self, paths: Sequence[str] | None = None, **bounds: float) -> None:
        """Raise unless every compared output keeps the bounds.

        Args:
            paths: paths that must be there; by default every path that this environment has and
                that can run this program. A path that failed is an error either way.
            **bounds: metric name to bound, a least value where higher is better (`sqnr_db=40`,
                `top1=1.0`), else a largest one (`max_abs=1e-4`).

        Raises:
            ParityError: a bound is missed or a path gave nothing; the message lists all of them.
            NotFoundError: a bound names no metric.
        """
        rules = {name: metric(name) for name in bounds}
        wrong: list[str] = []
        checked = 0
        for missing in set(paths or ()) - {row.path for row in self.rows}:
            wrong.append(f"{missing}: not compared in this report")
        for row in self.rows:
            if row.path == self.reference and row.status == "ok":
                continue
            if paths is not None and row.path not in paths:
                continue
            if row.status == "failed" or (row.status in _NEVER_RAN and paths is not None):
                wrong.append(f"{row.path}: {row.reason}")
            if row.status != "ok":
                continue
            for name, bound in bounds.items():
                value = row.values.get(name)
                if value is None:
                    if name not in self.metrics:
                        wrong.append(f"{row.path}: {name} was not computed")
                    continue
                checked += 1
                # Written so that NaN misses every bound.
                kept = value >= bound if rules[name].higher_is_better else value <= bound
                if not kept:
                    sign = "<" if rules[name].higher_is_better else ">"
                    said = rules[name].format(value)
                    wrong.append(f"{row.path}, {row.output}: {name} {said} {sign} {bound:g}")
        if not wrong and not checked and bounds:
            wrong.append("nothing was compared: no path but the reference gave numbers")
        if wrong:
            raise ParityError(
                f"parity of {self.model} against {self.reference}: " + "; ".join(sorted(wrong))
            )

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a path and output, a column a metric."""
        import pandas

        return pandas.DataFrame(
            [
                {
                    "path": row.path,
                    "output": row.output,
                    "status": row.status,
                    **{name: row.values.get(name) for name in self.metrics},
                    "worst_sample": row.worst_sample,
                    "reason": row.reason,
                }
                for row in self.rows
            ]
        )

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        shown = [metric(name) for name in self.metrics]
        columns = ["path", "output", *(one.label for one in shown)]
        cells: list[list[str]] = []
        for row in self.rows:
            if row.path == self.reference and row.status == "ok":
                values = ["reference"] + [""] * (len(shown) - 1)
            elif row.status == "ok":
                values = [one.format(row.values.get(one.name)) for one in shown]
            else:
                values = [row.status] + [""] * (len(shown) - 1)
            cells.append([row.path, row.output, *values, row.reason])
        if any(row.reason for row in self.rows):
            columns.append("reason")
        else:
            cells = [line[:-1] for line in cells]
        return columns, cells

    @property
    def _noise_text(self) -> str:
        said = [f"{metric(n).label} {metric(n).format(v)}" for n, v in self.noise_floor.items()]
        return f"noise floor, {self.reference} run twice: {', '.join(said)}"

    def __str__(self) -> str:
        """The table as text."""
        columns, cells = self._cells()
        lines = [f"{self.model}, reference {self.reference}, on {self.data}"]
        lines += [f"note: {warning}" for warning in self.warnings]
        lines += [self._noise_text] if self.noise_floor else []
        lines += [str(one) for one in self.layers.coverage] if self.layers is not None else []
        return "\n".join([*lines, display.text_table(columns, cells)])

    def __repr__(self) -> str:
        """One line: the first metric of every path."""
        parts = []
        for row in self.rows:
            if row.path == self.reference:
                continue
            said: str = row.status
            if row.status == "ok" and self.metrics:
                first = metric(self.metrics[0])
                said = f"{first.format(row.values.get(first.name))} {first.label}"
            parts.append(f"{row.path}/{row.output} {said}" if row.output else f"{row.path} {said}")
        return f"ParityReport({self.model} against {self.reference}: {', '.join(parts)})"

    def _repr_html_(self) -> str:
        columns, cells = self._cells()
        known = {one.label for one in all_metrics().values()}
        grid = display.table(columns, cells, numeric=[name for name in columns if name in known])
        notes = [display.note(warning) for warning in self.warnings]
        if self.noise_floor:
            notes.append(f"<div>{display.escape(self._noise_text)}</div>")
        below = self.layers._repr_html_() if self.layers is not None else ""
        return display.card(
            f"Parity of {self.model} against {self.reference}",
            *notes,
            grid,
            below,
            subtitle=f"on {self.data}",
        )
