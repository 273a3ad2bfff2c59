"""The memory plan as numbers, a picture and a table of who is alive at the peak."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.exir.provenance import short_operator
from etlab.inspect.memory_picture import Box, draw_svg

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from etlab.exir.memory.plan import MemoryPlan, PlannedTensor


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """A memory plan with its picture.

    Attributes:
        model: name of the model.
        plan: where every tensor lives and for how long.
    """

    model: str
    plan: "MemoryPlan"

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
        sums = [sum(tensor.nbytes for tensor in self.at(i)) for i in range(len(self.plan.steps))]
        return sums.index(max(sums)) if sums else 0

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a planned tensor."""
        import pandas

        fields = (
            "name operator module source dtype shape nbytes memory_id offset first_use last_use"
        )
        return pandas.DataFrame(
            [{name: getattr(one, name) for name in fields.split()} for one in self.plan.tensors],
            columns=fields.split(),
        )

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
        axes.set_title(f"{self.model}: {self._summary()}", fontsize=10)
        legend = {label: colour for colour, label in colours.values()}
        axes.legend(
            handles=[Patch(color=colour, label=label) for label, colour in legend.items()],
            fontsize=7,
            ncols=2,
        )
        return axes

    def _summary(self) -> str:
        return (
            f"peak {display.format_bytes(self.peak)}, lower bound "
            f"{display.format_bytes(self.lower_bound)}, fragmentation {self.fragmentation:.1%}"
        )

    def __repr__(self) -> str:
        """One line."""
        return (
            f"MemoryReport({self.model}: {len(self.plan.tensors)} tensors over "
            f"{len(self.plan.steps)} steps, {self._summary()})"
        )

    def _repr_html_(self) -> str:
        step = self.peak_step
        alive = sorted(self.at(step), key=lambda one: (-one.nbytes, one.name))
        rows: list[list[Any]] = [
            [
                one.name,
                short_operator(one.operator),
                one.module or "",
                f"{one.nbytes:,}",
                f"{one.first_use} to {one.last_use}",
            ]
            for one in alive[:8]
        ]
        name = self.plan.steps[step] if self.plan.steps else ""
        grid = display.table(
            ["tensor", "operator", "module", "bytes", "steps"],
            rows,
            numeric=["bytes"],
            caption=f"alive at the peak, step {step} ({name}): the largest of {len(alive)}",
        )
        picture = display.svg_image(
            self.to_svg(), alternative=f"memory plan of {self.model}: {self._summary()}"
        )
        return display.card(
            f"Memory plan of {self.model}",
            picture,
            grid,
            subtitle=f"{self._summary()}; planner {self.plan.planner}",
        )
