"""What a plan's tensors would take with another planner or another alignment."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from etlab.exir.memory.interval import Interval
from etlab.exir.memory.memories import aligned
from etlab.exir.memory.planners import find_planner, list_planners

if TYPE_CHECKING:
    import pandas

    from etlab.exir.memory.interval import Planner
    from etlab.exir.memory.plan import MemoryPlan, PlannedTensor


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One way to plan.

    Attributes:
        planner: name of the algorithm.
        alignment: of every offset.
        nbytes: of all arenas.
        lower_bound: the most aligned bytes alive at one step, of every arena.
        seconds: what the planner took.
        is_current: whether the plan was made so.
    """

    planner: str
    alignment: int
    nbytes: int
    lower_bound: int
    seconds: float
    is_current: bool


@dataclass(frozen=True, slots=True)
class WhatIfTable:
    """Ways to plan the same tensors, the smallest first.

    Attributes:
        rows: one a planner and alignment.
    """

    rows: tuple[WhatIf, ...]

    @property
    def best(self) -> WhatIf:
        """The smallest; of equal ones the present one, then the quickest."""
        return self.rows[0]

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a way to plan; times are left out, for they differ from call to call."""
        import pandas

        names = ["planner", "alignment", "nbytes", "lower_bound", "is_current"]
        return pandas.DataFrame(
            [{name: getattr(row, name) for name in names} for row in self.rows], columns=names
        )

    def __repr__(self) -> str:
        """A table, the same for the same plan."""
        from etlab import display

        return display.text_table(*self._cells())

    def _repr_html_(self) -> str:
        from etlab import display

        columns, rows = self._cells()
        return display.table(columns, rows, numeric=columns[1:4], caption="what if")

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        columns = ["planner", "alignment", "bytes", "over the lower bound", ""]
        rows = [
            [
                row.planner,
                str(row.alignment),
                f"{row.nbytes:,}",
                f"{row.nbytes / row.lower_bound - 1:.1%}" if row.lower_bound else "",
                "<- this plan" if row.is_current else "",
            ]
            for row in self.rows
        ]
        return columns, rows


def what_if(
    plan: "MemoryPlan",
    planners: Iterable["str | Planner"] | None = None,
    alignments: Iterable[int] | None = None,
) -> WhatIfTable:
    """Plan the same tensors anew, each in the memory where it lies.

    Args:
        plan: of any program, whoever wrote it.
        planners: names or functions; by default all.
        alignments: in bytes; by default that of the plan.
    """
    rows = [
        _try(plan, planner, alignment)
        for planner in (planners if planners is not None else list_planners())
        for alignment in (alignments if alignments is not None else (plan.alignment,))
    ]
    rows.sort(key=lambda row: (row.nbytes, not row.is_current, row.planner, row.alignment))
    return WhatIfTable(tuple(rows))


def _try(plan: "MemoryPlan", planner: "str | Planner", alignment: int) -> WhatIf:
    name = planner if isinstance(planner, str) else getattr(planner, "__name__", "custom")
    place: Callable[[Sequence[Interval]], list[int]] = find_planner(planner)
    total = bound = 0
    begin = time.perf_counter()
    for arena in plan.arenas:
        own = [tensor for tensor in plan.tensors if tensor.memory_id == arena.memory_id]
        if not own:
            continue
        intervals = [_interval(tensor, alignment) for tensor in own]
        ends = [
            offset + interval.nbytes
            for offset, interval in zip(place(intervals), intervals, strict=True)
        ]
        total += max(ends) + plan.padding
        levels = plan.live_bytes_of(own, [interval.nbytes for interval in intervals])
        bound += max(levels) + plan.padding
    seconds = time.perf_counter() - begin
    is_current = (name, alignment) == (plan.planner, plan.alignment)
    return WhatIf(str(name), alignment, total, bound, seconds, is_current)


def _interval(tensor: "PlannedTensor", alignment: int) -> Interval:
    nbytes = prod(tensor.shape) * tensor.dtype.itemsize
    return Interval(aligned(nbytes, alignment), tensor.first_use, tensor.last_use)
