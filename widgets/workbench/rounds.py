"""Rounds of a bench: what was chosen, what came out, and how it differs from a pinned one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from etlab import display
from etlab.numerics import ParityReport, metric
from etlab.run import ExportRun

if TYPE_CHECKING:
    import pandas

COLUMNS = (
    "round",
    "partitioner",
    "quantizer",
    "file",
    "planned memory",
    "delegated",
    "native SQNR (dB)",
    "seconds",
)
_NUMERIC = (COLUMNS[0], *COLUMNS[3:])


@dataclass(frozen=True, slots=True)
class Round:
    """One press of *Lower & run*.

    Attributes:
        number: from 1.
        run: what it made.
        report: outputs of every path beside eager's.
        code: the Python that does the same.
        seconds: that it took.
    """

    number: int
    run: ExportRun
    report: ParityReport
    code: str
    seconds: float

    @property
    def sqnr_db(self) -> float | None:
        """Of the native outputs; None where there are none."""
        row = next((row for row in self.report.rows if row.path == "native"), None)
        return row.values.get("sqnr_db") if row is not None and row.status == "ok" else None

    @property
    def label(self) -> str:
        """Number and choices."""
        return f"{self.number}: {self.run.partitioner}, {self.run.quantizer}"

    @property
    def figures(self) -> tuple[float | None, ...]:
        """File and planned memory in bytes, delegated share of calls, native SQNR in dB."""
        return (
            len(self.run.file.data),
            self.run.memory_plan().peak,
            self.run.delegation().coverage,
            self.sqnr_db,
        )


@dataclass(frozen=True, slots=True)
class Rounds:
    """All rounds of a bench, side by side.

    Attributes:
        rounds: in order.
        baseline: the one that the others are compared with; None for none.
        model: its name.
    """

    rounds: tuple[Round, ...]
    baseline: Round | None
    model: str

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a round: bytes, the delegated share of calls, dB, seconds."""
        import pandas

        rows = [
            [one.number, one.run.partitioner, one.run.quantizer, *one.figures, one.seconds]
            for one in self.rounds
        ]
        return pandas.DataFrame(rows, columns=list(COLUMNS)).set_index("round")

    def __str__(self) -> str:
        """A text table."""
        return display.text_table(COLUMNS, _rows(self.rounds, self.baseline))

    def _repr_html_(self) -> str:
        return history_table(self.rounds, self.baseline)


def without_report(code: str) -> str:
    """The code of a round up to its run."""
    return code.rpartition("\nreport =")[0] or code


def history_table(rounds: Sequence[Round], baseline: Round | None) -> str:
    """All rounds as an HTML table, with differences to the baseline."""
    rows = _rows(rounds, baseline)
    return display.table(COLUMNS, rows, numeric=_NUMERIC, caption="rounds of this bench")


def _rows(rounds: Sequence[Round], baseline: Round | None) -> list[list[str]]:
    return [
        [
            f"{one.number}{' (baseline)' if one is baseline else ''}",
            one.run.partitioner,
            one.run.quantizer,
            *_figures(one, baseline),
            f"{one.seconds:.1f}",
        ]
        for one in rounds
    ]


def _figures(one: Round, baseline: Round | None) -> list[str]:
    said = [_text(place, value) for place, value in enumerate(one.figures)]
    if baseline is None or one is baseline:
        return said
    pairs = zip(one.figures, baseline.figures, strict=True)
    return [
        f"{text} ({change})" if (change := _change(place, *pair)) else text
        for place, (text, pair) in enumerate(zip(said, pairs, strict=True))
    ]


def _text(place: int, value: float | None) -> str:
    if place < 2:
        return f"{value:,} B"
    return f"{value:.0%}" if place == 2 else metric("sqnr_db").format(value)


def _change(place: int, value: float | None, base: float | None) -> str:
    """The difference as text; empty where there is none to tell."""
    if value is None or base is None or value == base:
        return ""
    if place < 2:
        return f"{value / base - 1:+.0%}" if base else ""
    if place == 2:
        return f"{(value - base) * 100:+.0f} points"
    change = value - base  # of an exact round it is infinite, which says nothing more
    return f"{change:+.1f}" if abs(change) < float("inf") else ""
