"""Where the time of a run goes: operators, delegates' nodes, modules, source lines."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import AccessError, BackendMissingError
from etlab.inspect.profile_rows import ProfileGroup, ProfileRow, Samples, group_of, sum_of
from etlab.inspect.table import Table
from etlab.runtime import EventTrace, Roofline

if TYPE_CHECKING:
    import pandas

    from etlab.inspect.estimates import EstimateReport
    from etlab.inspect.profile_delta import ProfileDelta


@dataclass(frozen=True, slots=True)
class ProfileReport:
    """A profile. Two things are measured apart: whole calls without tracing, and traced runs.

    Attributes:
        model: its name.
        method: that ran.
        threads: of the kernels.
        rows: in order of execution; a delegate's nodes follow its call.
        end_to_end: whole calls without tracing, inputs and outputs included. This is how long the
            model takes; the sums of rows are not.
        traced: whole calls with tracing.
        warm_up: the calls before, which are in nothing else.
        roofline: this machine's limits; None when they were not measured.
        trace: the events behind it.
        estimated: who estimated all of these times, of a program that cannot run here; empty where
            they were measured. One profile never has both.
        estimates: what else compilers expect of devices that are not here.
    """

    model: str
    method: str
    threads: int
    rows: tuple[ProfileRow, ...]
    end_to_end: Samples
    traced: Samples
    warm_up: Samples
    roofline: Roofline | None = None
    trace: EventTrace | None = field(default=None, repr=False, compare=False)
    estimated: str = ""
    estimates: "EstimateReport | None" = field(default=None, repr=False, compare=False)

    @property
    def runs(self) -> int:
        """How many runs of either kind."""
        return len(self.end_to_end.seconds)

    @property
    def leaves(self) -> tuple[ProfileRow, ...]:
        """The rows that do not overlap: a delegate's nodes, and a call that tells of none."""
        told = {row.part for row in self.rows if row.part}
        return tuple(row for row in self.rows if row.kind != "delegate" or row.node not in told)

    @property
    def instructions(self) -> tuple[ProfileRow, ...]:
        """The rows of instructions, whose sum is nearly that of a traced run."""
        return tuple(row for row in self.rows if not row.part)

    @property
    def sum_of_parts(self) -> Samples:
        """The sum over the instructions of every traced run."""
        return sum_of(self.instructions)

    @property
    def sum_of_leaves(self) -> Samples:
        """The sum over the rows that do not overlap, of every traced run."""
        return sum_of(self.leaves)

    @property
    def overhead(self) -> float:
        """How much longer traced calls take, as a share."""
        return self.traced.p50 / self.end_to_end.p50 - 1

    @property
    def by_operator(self) -> Table[ProfileGroup]:
        """Time by operator, the most first."""
        return self._grouped(lambda row: row.operator, "operators")

    @property
    def by_module(self) -> Table[ProfileGroup]:
        """Time by innermost module, the most first."""
        return self._grouped(lambda row: row.module or "(top)", "modules")

    @property
    def by_source(self) -> Table[ProfileGroup]:
        """Time by line of the model's source, the most first."""
        return self._grouped(lambda row: row.source or "(unknown)", "source lines")

    @property
    def by_node(self) -> Table[ProfileGroup]:
        """Time by node, the most first."""
        return self._grouped(lambda row: row.node, "nodes")

    @property
    def by_part(self) -> Table[ProfileGroup]:
        """Time by delegate, whole calls of each; our own kernels together. The most first."""
        rows = self.instructions
        named = {row.node: f"{row.node} ({row.backend})" for row in rows if row.kind == "delegate"}
        return self._grouped(
            lambda row: named.get(row.part or row.node, "own kernels"), "delegates"
        )

    def versus(
        self, baseline: "ProfileReport", *, by: str = "by_operator"
    ) -> "Table[ProfileDelta]":
        """What became quicker or slower than in another profile.

        Args:
            baseline: of the same model, lowered otherwise, or measured before.
            by: "by_operator", "by_module", "by_source", "by_node" or "by_part".

        Raises:
            InvalidArgumentError: there is no such table.
        """
        from etlab.inspect.profile_delta import compare_profiles

        return compare_profiles(baseline, self, by)

    def worst(self, count: int = 5) -> tuple[ProfileRow, ...]:
        """The rows with the most time above what the roofline allows."""
        known = [row for row in self.leaves if row.roof is not None]
        known.sort(key=lambda row: (row.samples.p50 or 0) - (row.roof or 0), reverse=True)
        return tuple(known[:count])

    def _grouped(self, name: Callable[[ProfileRow], str], title: str) -> Table[ProfileGroup]:
        groups: dict[str, list[ProfileRow]] = {}
        for row in self.leaves:
            groups.setdefault(name(row), []).append(row)
        total = self.sum_of_leaves.p50 or 1.0
        made = [group_of(key, rows, total) for key, rows in groups.items()]
        made.sort(key=lambda group: (-group.p50_ms, group.name))
        return Table(ProfileGroup, made, title=f"{title} of {self.model}")

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row an instruction or delegate node; times in milliseconds."""
        import pandas

        rows = [
            {
                **{name: getattr(row, name) for name in _PLAIN},
                **{f"{name}_ms": getattr(row.samples, name) * 1e3 for name in _TIMES},
                "spread": row.samples.spread,
                "flops": row.flops,
                "nbytes": row.nbytes,
                "gflops": row.gflops,
                "gbps": row.gbps,
                "of_roof": row.of_roof,
            }
            for row in self.rows
        ]
        columns = [*_PLAIN, *(f"{name}_ms" for name in _TIMES), "spread", *_DERIVED]
        return pandas.DataFrame(rows, columns=columns)

    def chrome_trace(self) -> dict[str, Any]:
        """The traced runs as JSON for Chrome's and Perfetto's trace viewers."""
        from etlab.inspect.chrome_trace import chrome_trace

        return chrome_trace(self)

    def save_chrome_trace(self, path: str | Path) -> None:
        """Write `chrome_trace()`; open it at ui.perfetto.dev or chrome://tracing.

        Raises:
            AccessError: the place cannot be written.
        """
        import json

        try:
            Path(path).write_text(json.dumps(self.chrome_trace()))
        except OSError as error:
            raise AccessError(f"cannot write '{path}': {error.strerror}") from error

    @property
    def stand_ins(self) -> list[str]:
        """What was measured in the place of hardware that is not here, in sentences."""
        names = dict.fromkeys(row.backend for row in self.rows if row.kind == "delegate")
        return [f"{name}: {why}" for name in names if (why := _why_elsewhere(name))]

    def to_svg(self) -> str:
        """A run as a bar of its parts, and the roofline with what the operators achieve."""
        from etlab.inspect.profile_picture import draw_svg

        return draw_svg(self)

    def widget(self, **options: Any) -> Any:
        """A `ProfileView` of this profile; see there for the options."""
        return display.view_of(self, "ProfileView", **options)

    def _ipython_display_(self) -> None:
        """In a notebook the live view (and its picture, which stays); elsewhere one line."""
        display.show_view(self)

    def __repr__(self) -> str:
        """One line."""
        if self.estimated:
            whole = display.milliseconds(self.end_to_end.p50)
            return f"ProfileReport({self.model}: {whole}, not measured: {self.estimated})"
        return (
            f"ProfileReport({self.model}, {self.threads} thread{'' if self.threads == 1 else 's'}:"
            f" end to end {self.end_to_end}; parts sum to"
            f" {display.milliseconds(self.sum_of_parts.p50)}; {self.runs} runs)"
        )

    def __str__(self) -> str:
        """The report as text."""
        from etlab.inspect.profile_text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from etlab.inspect.profile_picture import as_html

        return as_html(self)


def _why_elsewhere(backend: str) -> str:
    """Why a backend's times are not those of what it is for; empty where they are."""
    from etlab.exir.partition.registry import backend_class

    try:
        return backend_class(backend).times
    except BackendMissingError:
        return ""


_PLAIN = ("node", "operator", "kind", "backend", "part", "module", "source", "calls")
_TIMES = ("p50", "p90", "mean", "least")
_DERIVED = ("flops", "nbytes", "gflops", "gbps", "of_roof")
