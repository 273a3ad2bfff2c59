"""`LayerReport`: every operator on every path, and which is the first that diverges."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import EtlabError, InvalidArgumentError
from etlab.numerics.depth_plot import depth_plot, draw_depth
from etlab.numerics.divergence import Divergence, OpenTensors
from etlab.numerics.layers import Coverage, LayerRow, StepCounts
from etlab.numerics.metrics import metric

if TYPE_CHECKING:
    import pandas

    from etlab.numerics.tensor_pair import TensorPair

_MOST_ROWS = 100  # in a notebook: a saved one is to stay small


class LayerCheckError(EtlabError, AssertionError):
    """An operator missed a bound."""


@dataclass(frozen=True, slots=True)
class LayerReport:
    """Every operator on every path.

    Attributes:
        model: name of the model.
        reference: the path that the others are compared with.
        metrics: names of the metrics, in order.
        rows: one an operator and path, in the order of the model.
        coverage: one a path.
        data: what the inputs were, in words.
    """

    model: str
    reference: str
    metrics: tuple[str, ...]
    rows: tuple[LayerRow, ...]
    coverage: tuple[Coverage, ...]
    data: str
    _open: OpenTensors | None = field(default=None, repr=False, compare=False)
    _parameters: Callable[[str], Mapping[str, str]] | None = field(
        default=None, repr=False, compare=False
    )

    @property
    def paths(self) -> list[str]:
        """The paths, in order."""
        return list(dict.fromkeys(row.path for row in self.rows))

    def __iter__(self) -> Iterator[LayerRow]:
        """The rows."""
        return iter(self.rows)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def row(self, operator: str, path: str | None = None) -> LayerRow:
        """The row of an operator, by its node's name, on the first path that has it.

        Raises:
            InvalidArgumentError: there is none.
        """
        for row in self.rows:
            if row.operator == operator and path in (None, row.path):
                return row
        near = [row.operator for row in self.rows if row.operator.startswith(str(operator)[:4])]
        raise InvalidArgumentError(
            f"no operator {operator!r}; similar ones: {', '.join(dict.fromkeys(near)) or 'none'}"
        )

    def tensors(
        self, operator: str, path: str | None = None, *, local: bool = False
    ) -> "TensorPair":
        """What a path and the reference computed for an operator, on the worst sample.

        Raises:
            InvalidArgumentError: there is no such operator, the path has no value of it, or the
                report was made without its run.
        """
        if self._open is None:
            raise InvalidArgumentError("this report was made without its run: use run.parity()")
        row = self.row(operator, path)
        return self._open(operator, row.path, local)

    def first_divergence(self, path: str | None = None) -> Divergence | None:
        """The first operator, in the model's order, that computes something else.

        Paths that run on the device come before those in PyTorch.

        Args:
            path: on which path; by default on any.
        """
        ordered = sorted(self.paths, key=lambda name: name in ("exported", "quantized"))
        for name in ordered if path is None else [path]:
            for row in self.rows:
                if row.path == name and row.diverges:
                    told = self._parameters(row.operator) if self._parameters else {}
                    return Divergence(row, told, self.reference, self._open)
        return None

    def worst(self, n: int = 5, *, path: str | None = None, local: bool = True) -> "LayerReport":
        """The `n` operators that are farthest from the reference, the worst first.

        Args:
            n: how many.
            path: on which path; by default on all.
            local: by what they compute from the reference's inputs, where that is known.

        Raises:
            InvalidArgumentError: `n` is negative.
        """
        if n < 0:
            raise InvalidArgumentError(f"worst: expected a number of operators, got {n}")
        judge = metric(self.metrics[0])
        scored: list[tuple[float, int, LayerRow]] = []
        for place, row in enumerate(self.rows):
            found = (row.local if local else None) or row.accumulated
            value = None if found is None else found.values.get(judge.name)
            if value is None or path not in (None, row.path):
                continue
            score = (
                -float("inf") if value != value else (value if judge.higher_is_better else -value)
            )
            scored.append((score, place, row))
        return replace(self, rows=tuple(row for _, _, row in sorted(scored, key=_by_score)[:n]))

    def to_quantizer_overrides(self, operators: Iterable[str]) -> dict[str, Any]:
        """Parameters for the same quantizer that keep operators in float: the modules they are in.

        What one step computes together stays in float together. An operator that is in no module
        but the whole model has none to keep.

        Raises:
            InvalidArgumentError: there is no such operator.
        """
        wanted = {self.row(name).operator for name in operators}
        steps = [(*row.together, row.operator) for row in self.rows if row.operator in wanted]
        names = {name for step in steps for name in step}
        modules = [row.module for row in self.rows if row.operator in names and row.module]
        return {"keep_float": tuple(dict.fromkeys(modules))}

    def check(self, path: str | None = None, *, local: bool = True, **bounds: float) -> None:
        """Raise unless every compared operator keeps the bounds.

        Args:
            path: on which path; by default on all.
            local: check what operators compute from the reference's inputs; otherwise on each
                path's own values.
            **bounds: metric name to bound.

        Raises:
            LayerCheckError: some do not; the message lists the first of them.
        """
        wrong = []
        for row in self.rows:
            found = row.local if local else row.accumulated
            if found is None or path not in (None, row.path):
                continue
            for name, bound in bounds.items():
                value = found.values.get(name)
                judge = metric(name)
                if value is None:
                    continue
                if not (value >= bound if judge.higher_is_better else value <= bound):
                    sign = "<" if judge.higher_is_better else ">"
                    text = f"{name} {judge.format(value)} {sign} {bound:g}"
                    wrong.append(f"{row.path}, {row.operator} ({row.source}): {text}")
        if wrong:
            more = f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            raise LayerCheckError(f"layers of {self.model}: " + "; ".join(wrong[:5]) + more)

    def to_svg(self, metric_name: str | None = None) -> str:
        """A metric along the depth of the model; the first one by default."""
        return draw_depth(self.rows, metric_name or self.metrics[0])

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row an operator and path; metrics on own values, then on the reference's inputs."""
        import pandas

        return pandas.DataFrame([_record(row, self.metrics) for row in self.rows])

    def steps_by_kind(self) -> "pandas.DataFrame":
        """How far integers are apart, each step on the reference's inputs, by what computes them.

        One row a path and kind: how many operators, the shares of elements that are equal, off by
        one and off by more, and the known reason.
        """
        import pandas

        groups: dict[tuple[str, str], list[LayerRow]] = {}
        for row in self.rows:
            if row.local is not None and row.local.steps is not None:
                groups.setdefault((row.path, row.computed_by), []).append(row)
        records = []
        for (path, kind), rows in groups.items():
            steps = sum((r.local.steps for r in rows if r.local and r.local.steps), StepCounts())
            records.append(
                {
                    "path": path,
                    "computed by": kind,
                    "operators": len(rows),
                    "equal": steps.share_equal,
                    "off by one": steps.one / max(1, steps.total),
                    "off by more": steps.more / max(1, steps.total),
                    "reason": next((r.known_reason for r in rows if r.known_reason), ""),
                }
            )
        return pandas.DataFrame(records)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        shown = [metric(name) for name in self.metrics]
        columns = ["path", "operator", "module", "source", "computed by"]
        columns += [one.label for one in shown] + [f"{one.label}, alone" for one in shown[:1]]
        columns += ["steps, alone"] if any(_steps(row) for row in self.rows) else []
        cells = []
        for row in self.rows:
            if row.accumulated is None:
                continue
            line = [row.path, row.names, row.module, row.source, row.computed_by]
            line += [one.format(row.accumulated.values.get(one.name)) for one in shown]
            alone = (
                "" if row.local is None else shown[0].format(row.local.values.get(shown[0].name))
            )
            line.append(("≠ " if row.diverges else "") + alone)
            if columns[-1] == "steps, alone":
                line.append(_steps(row))
            cells.append(line)
        return columns, cells

    def __str__(self) -> str:
        """Coverage, then a table."""
        columns, cells = self._cells()
        lines = [f"layers of {self.model}, reference {self.reference}, on {self.data}"]
        lines += [str(one) for one in self.coverage]
        return "\n".join([*lines, display.text_table(columns, cells)])

    def __repr__(self) -> str:
        """One line."""
        found = self.first_divergence()
        said = "no operator diverges" if found is None else f"first divergence {found.operator}"
        return f"LayerReport({self.model} against {self.reference}: {len(self.rows)} rows, {said})"

    def _repr_html_(self) -> str:
        compared = sum(row.accumulated is not None for row in self.rows)
        is_long = compared > _MOST_ROWS
        listed = self.worst(_MOST_ROWS, local=False) if is_long else self
        columns, cells = listed._cells()
        numeric = {*columns[5:]}
        lines = "".join(f"<div>{display.escape(one)}</div>" for one in self.coverage)
        found = self.first_divergence()
        told = "" if found is None else found._repr_html_()
        grid = display.table(columns, cells, numeric=numeric)
        if is_long:
            grid += display.note(f"the {_MOST_ROWS} that are farthest away; to_dataframe() has all")
        picture = depth_plot(self.rows, self.metrics[0]) if self.rows else ""
        return display.card(
            f"Layers of {self.model} against {self.reference}",
            picture,
            told,
            lines,
            display.details(f"{compared} operators", grid),
            subtitle=f"on {self.data}",
        )


def _by_score(entry: tuple[float, int, Any]) -> tuple[float, int]:
    return entry[:2]


def _steps(row: LayerRow) -> str:
    found = row.local or row.accumulated
    return "" if found is None or found.steps is None else str(found.steps)


def _record(row: LayerRow, metrics: tuple[str, ...]) -> dict[str, Any]:
    record: dict[str, Any] = {
        "path": row.path,
        "operator": row.operator,
        "kind": row.kind,
        "together": row.names,
        "module": row.module,
        "source": row.source,
        "part": row.part,
        "computed_by": row.computed_by,
        "compared_as": row.compared_as if row.accumulated is not None else "",
    }
    for prefix, found in (("", row.accumulated), ("local_", row.local)):
        for name in metrics:
            record[prefix + name] = None if found is None else found.values.get(name)
        steps = None if found is None else found.steps
        for name in ("equal", "one", "more"):
            record[f"{prefix}steps_{name}"] = None if steps is None else getattr(steps, name)
    record["known_reason"] = row.known_reason
    record["worst_sample"] = None if row.accumulated is None else row.accumulated.worst_sample
    record["diverges"] = row.diverges
    record["reason"] = row.reason
    record["local_reason"] = row.local_reason
    return record
