"""What a plan's tensors would take with another planner or another alignment."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from etlab.errors import InvalidArgumentError
from etlab.exir.memory.interval import Interval
from etlab.exir.memory.memories import aligned
from etlab.exir.memory.plan import PlannedTensor
from etlab.exir.memory.planners import find_planner, list_planners

if TYPE_CHECKING:
    import pandas

    from etlab.exir.memory.interval import Planner
    from etlab.exir.memory.plan import MemoryPlan


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


def replanned(
    plan: "MemoryPlan", planner: "str | Planner | None" = None, alignment: int | None = None
) -> "MemoryPlan":
    """The same tensors, each in the memory where it lies, at other offsets.

    Args:
        plan: of any program, whoever wrote it.
        planner: name or function; by default that of the plan.
        alignment: of every offset and size, in bytes, a power of two; by default that of the plan.

    Raises:
        InvalidArgumentError: the alignment is no power of two.
        NotFoundError: there is no such planner.
    """
    align = plan.alignment if alignment is None else alignment
    if not isinstance(align, int) or align < 1 or align & (align - 1):
        raise InvalidArgumentError(f"replanned: alignment must be a power of two, not {align!r}")
    chosen = plan.planner if planner is None else planner
    place: Callable[[Sequence[Interval]], list[int]] = find_planner(chosen)
    places: dict[int, PlannedTensor] = {}
    sizes = dict(plan.arena_sizes)
    for memory_id in sizes:
        own = [tensor for tensor in plan.tensors if tensor.memory_id == memory_id]
        if not own:
            continue
        intervals = [_interval(tensor, align) for tensor in own]
        offsets = place(intervals)
        for tensor, interval, offset in zip(own, intervals, offsets, strict=True):
            places[tensor.id] = replace(tensor, offset=offset, nbytes=interval.nbytes)
        sizes[memory_id] = plan.padding + max(
            offset + one.nbytes for offset, one in zip(offsets, intervals, strict=True)
        )
    return replace(
        plan,
        tensors=tuple(places[tensor.id] for tensor in plan.tensors),
        arena_sizes=sizes,
        alignment=align,
        planner=_name_of(chosen),
    )


def _name_of(planner: "str | Planner") -> str:
    return planner if isinstance(planner, str) else getattr(planner, "__name__", "custom")


def _try(plan: "MemoryPlan", planner: "str | Planner", alignment: int) -> WhatIf:
    begin = time.perf_counter()
    other = replanned(plan, planner, alignment)
    seconds = time.perf_counter() - begin
    is_current = (other.planner, alignment) == (plan.planner, plan.alignment)
    return WhatIf(other.planner, alignment, other.peak, other.lower_bound, seconds, is_current)


def _interval(tensor: PlannedTensor, alignment: int) -> Interval:
    nbytes = prod(tensor.shape) * tensor.dtype.itemsize
    return Interval(aligned(nbytes, alignment), tensor.first_use, tensor.last_use)
