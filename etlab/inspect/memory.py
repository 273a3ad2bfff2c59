"""The memory plan as numbers, a picture and a table of who is alive at the peak."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import AccessError, InvalidArgumentError
from etlab.exir.provenance import short_operator
from etlab.inspect.estimates import EstimateReport, estimates_in
from etlab.inspect.memory_advice import Advice, advice_on
from etlab.inspect.memory_picture import Box, draw_svg
from etlab.inspect.memory_text import (
    ADVICE,
    ARENAS,
    PEAK,
    advice_rows,
    arena_rows,
    as_text,
    peak_caption,
    peak_rows,
)
from etlab.inspect.memory_what_if import WhatIfTable, replanned, what_if
from etlab.inspect.table import Table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from etlab.exir.memory.interval import Planner
    from etlab.exir.memory.plan import Arena, MemoryPlan, PlannedTensor
    from etlab.inspect.program_file import ProgramFile
    from etlab.run import ExportRun

_MOST_TRIED = 2000  # tensors; larger plans are tried with other planners only on demand


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """A memory plan with its picture.

    Attributes:
        model: name of the model.
        plan: where every tensor lives and for how long.
        estimates: of devices that run delegates in memories of their own.
        file: the program; None where only the plan is known.
    """

    model: str
    plan: "MemoryPlan"
    estimates: "EstimateReport | None" = None
    file: "ProgramFile | None" = field(default=None, repr=False, compare=False)

    @property
    def devices(self) -> "tuple[MemoryReport, ...]":
        """The memories of these devices, one report a delegate, as the compiler placed values."""
        from etlab.inspect.estimated_memory import device_plan

        parts = self.estimates.parts if self.estimates is not None else ()
        told = [part for part in parts if part.estimate.tensors]
        return tuple(MemoryReport(f"{self.model}, {p.part}", device_plan(p)) for p in told)

    @property
    def constants(self) -> int:
        """Bytes of weights and other constants, delegates' included, that the program's files hold.

        They are in memory all the time, beside the arenas, or stay in flash.
        """
        return 0 if self.file is None else self.file.constant_bytes

    @property
    def peak(self) -> int:
        """Bytes of the arenas."""
        return self.plan.peak

    @property
    def lower_bound(self) -> int:
        """Bytes that no plan can go below: the largest sum of tensors alive together."""
        return self.plan.lower_bound

    @property
    def fragmentation(self) -> float:
        """Share of the arenas above the lower bound."""
        return self.plan.fragmentation

    def at(self, step: int) -> "tuple[PlannedTensor, ...]":
        """Tensors alive at `step`."""
        return tuple(self.plan.at(step))

    @property
    def peak_step(self) -> int:
        """The first step at which most bytes are alive."""
        return self.plan.peak_step

    def table_at(self, step: int) -> "Table[PlannedTensor]":
        """Tensors alive at `step`, the largest first.

        Raises:
            InvalidArgumentError: there is no such step.
        """
        from etlab.exir.memory.plan import PlannedTensor

        steps = self.plan.steps
        if not 0 <= step < len(steps):
            raise InvalidArgumentError(f"table_at: expected a step below {len(steps)}, got {step}")
        rows = sorted(self.at(step), key=lambda one: (-one.nbytes, one.name))
        return Table(PlannedTensor, rows, title=f"alive at step {step}, {steps[step]}")

    @property
    def arenas(self) -> "tuple[Arena, ...]":
        """What the plan makes of each memory."""
        return self.plan.arenas

    @property
    def spilled(self) -> "tuple[PlannedTensor, ...]":
        """What did not get into the first of several memories, most traffic first."""
        return self.plan.spilled

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What would lower the peak, the largest saving first."""
        return advice_on(self.plan)

    def check(self) -> None:
        """Prove that no two tensors alive together overlap, and that all fit where they lie.

        Raises:
            MemoryPlanError: the plan is not valid; the message names the tensors.
        """
        self.plan.check()

    def what_if(
        self,
        planners: "Iterable[str | Planner] | None" = None,
        alignments: Iterable[int] | None = None,
    ) -> WhatIfTable:
        """The same tensors with other planners and alignments; by default with all planners."""
        return what_if(self.plan, planners, alignments)

    def replanned(
        self, planner: "str | Planner | None" = None, alignment: int | None = None
    ) -> "MemoryReport":
        """The same tensors with another planner or alignment; the program stays as it is.

        Raises:
            InvalidArgumentError: the alignment is no power of two.
            NotFoundError: there is no such planner.
        """
        return replace(self, plan=replanned(self.plan, planner, alignment))

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a planned tensor."""
        import pandas

        columns = (
            "id name operator module source dtype shape nbytes memory_id offset first_use last_use"
        )
        names = [*columns.split(), "uses"]
        return pandas.DataFrame(
            [{name: getattr(one, name) for name in names} for one in self.plan.tensors],
            columns=names,
        )

    def save_chrome_trace(self, path: str | Path) -> None:
        """Write the plan for ui.perfetto.dev or chrome://tracing; a step is a microsecond there.

        Raises:
            AccessError: the place cannot be written.
        """
        from etlab.inspect.memory_trace import memory_trace

        try:
            Path(path).write_text(json.dumps(memory_trace(self.plan, self.model)))
        except OSError as error:
            raise AccessError(f"cannot write '{path}': {error.strerror}") from error

    def boxes(self) -> list[Box]:
        """The rectangles of the picture; arenas stand on top of each other."""
        base: dict[int, int] = {}
        total = 0
        for memory_id, size in sorted(self.plan.arena_sizes.items()):
            base[memory_id] = total
            total += size
        return [
            Box(
                one.first_use,
                one.last_use + 1,
                base.get(one.memory_id, 0) + one.offset,
                base.get(one.memory_id, 0) + one.offset + one.nbytes,
                short_operator(one.operator),
            )
            for one in self.plan.tensors
        ]

    def to_svg(self) -> str:
        """The picture: time to the right, bytes upwards, one rectangle a tensor."""
        return draw_svg(
            self.boxes(),
            steps=max(len(self.plan.steps), 1),
            peak=self.peak,
            lower_bound=self.lower_bound,
            live=self.plan.live_bytes,
            peak_name=self._peak_name(),
        )

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """The same picture on matplotlib axes."""
        from matplotlib import pyplot
        from matplotlib.patches import Patch, Rectangle

        from etlab.inspect.memory_picture import colours_of

        if axes is None:
            _, axes = pyplot.subplots(figsize=(9, 3.5), layout="constrained")
        boxes = self.boxes()
        colours = colours_of(boxes)
        unit = 1 / 1024
        for box in boxes:
            corner = (box.left, box.bottom * unit)
            axes.add_patch(
                Rectangle(
                    corner,
                    box.right - box.left,
                    (box.top - box.bottom) * unit,
                    facecolor=colours[box.kind][0],
                    edgecolor="white",
                    linewidth=0.3,
                )
            )
        axes.axhline(self.peak * unit, color="black", linewidth=1)
        axes.axhline(self.lower_bound * unit, color="black", linewidth=1, linestyle="--")
        axes.set_xlim(0, max(len(self.plan.steps), 1))
        axes.set_ylim(0, max(self.peak * unit * 1.08, 1))
        axes.set_xlabel("step")
        axes.set_ylabel("offset (KiB)")
        axes.set_title(f"{self.model}: {self.summary()}", fontsize=10)
        legend = {label: colour for colour, label in colours.values()}
        axes.legend(
            handles=[Patch(color=colour, label=label) for label, colour in legend.items()],
            fontsize=7,
            ncols=2,
        )
        return axes

    def _peak_name(self) -> str:
        name = self.plan.steps[self.peak_step] if self.plan.steps else ""
        return f"step {self.peak_step}, {short_operator(name)}"

    def summary(self) -> str:
        """Peak, lower bound and fragmentation in one line."""
        return (
            f"peak {display.format_bytes(self.peak)}, lower bound "
            f"{display.format_bytes(self.lower_bound)}, fragmentation {self.fragmentation:.1%}"
        )

    def __repr__(self) -> str:
        """One line."""
        return (
            f"MemoryReport({self.model}: {len(self.plan.tensors)} tensors over "
            f"{len(self.plan.steps)} steps, {self.summary()})"
        )

    def __str__(self) -> str:
        """The report as text."""
        return as_text(self)

    def _repr_html_(self) -> str:
        parts = [
            display.svg_image(
                self.to_svg(), alternative=f"memory plan of {self.model}: {self.summary()}"
            )
        ]
        if len(self.arenas) > 1:
            caption = f"memories; {len(self.spilled)} tensors spilled from the first"
            parts.append(
                display.table(ARENAS, arena_rows(self), numeric=ARENAS[1:], caption=caption)
            )
        parts.append(
            display.table(PEAK, peak_rows(self), numeric=["bytes"], caption=peak_caption(self))
        )
        if rows := advice_rows(self):
            caption = "what would lower the peak: bytes of each change alone"
            parts.append(display.table(ADVICE, rows, numeric=["saves"], caption=caption))
        if self.estimates:
            lines = (f"<div>{display.escape(line)}</div>" for line in self.estimates.lines())
            parts += [*lines, self.estimates.memories._repr_html_()]
        if self.plan.tensors and len(self.plan.tensors) <= _MOST_TRIED:
            parts.append(display.details("with other planners", self.what_if()._repr_html_()))
        return display.card(
            f"Memory plan of {self.model}",
            *parts,
            subtitle=f"{self.summary()}; planner {self.plan.planner}",
        )

    def widget(self, **options: Any) -> Any:
        """A `MemoryPlanView` of this plan; see there for the options."""
        return display.view_of(self, "MemoryPlanView", **options)

    def _ipython_display_(self) -> None:
        """In a notebook the live view (and its picture, which stays); elsewhere one line."""
        display.show_view(self)


def report_memory(
    run: "ExportRun", method: str, planner: "str | Planner | None", changes: Mapping[str, Any]
) -> MemoryReport:
    """The memory plan of a run, as it is or with other planning.

    Raises:
        InvalidArgumentError: planning has no such argument, or not with this value.
        MemoryPlanError: a memory would be too small.
    """
    planning = run.program.memory_planning(method)
    if planner is not None:
        changes = {**changes, "memory_planning_algo": planner}
    known = [one.name for one in fields(planning)]
    if unknown := [name for name in changes if name not in known]:
        raise InvalidArgumentError(
            f"memory_plan: there is no argument {', '.join(unknown)}; there is planner,"
            f" {', '.join(known[1:])}"
        )
    other = replace(planning, **changes) if changes else None
    estimates = estimates_in(run.delegated.edge_graph(method), run.name)
    return MemoryReport(run.name, run.program.memory_plan(method, other), estimates, run.file)
