"""A memory plan as text, and the tables that the text and the page share."""

from typing import TYPE_CHECKING

from etlab import display
from etlab.exir.provenance import short_operator

if TYPE_CHECKING:
    from etlab.inspect.memory import MemoryReport

ARENAS = ("memory", "bytes", "capacity", "lower bound", "tensors", "traffic")
PEAK = ("tensor", "operator", "module", "bytes", "steps")
ADVICE = ("tensor", "saves", "what to do")
_MOST_ALIVE = 8
_MOST_ADVICE = 6


def arena_rows(report: "MemoryReport") -> list[tuple[str, ...]]:
    """The memories, in the order of `ARENAS`."""
    total = sum(arena.traffic for arena in report.arenas) or 1
    return [
        (
            arena.name,
            f"{arena.nbytes:,}",
            "" if arena.capacity is None else f"{arena.capacity:,}",
            f"{arena.lower_bound:,}",
            str(arena.tensors),
            f"{arena.traffic / total:.1%}",
        )
        for arena in report.arenas
    ]


def peak_rows(report: "MemoryReport") -> list[tuple[str, ...]]:
    """The largest tensors alive at the peak, in the order of `PEAK`."""
    alive = sorted(report.at(report.peak_step), key=lambda one: (-one.nbytes, one.name))
    return [
        (
            one.name,
            short_operator(one.operator),
            one.module or "",
            f"{one.nbytes:,}",
            f"{one.first_use} to {one.last_use}",
        )
        for one in alive[:_MOST_ALIVE]
    ]


def peak_caption(report: "MemoryReport") -> str:
    """What `peak_rows` are."""
    step, steps = report.peak_step, report.plan.steps
    name = steps[step] if steps else ""
    count = len(report.at(step))
    return f"alive at the peak, step {step} ({name}): the largest of {count}"


def advice_rows(report: "MemoryReport") -> list[tuple[str, ...]]:
    """What would lower the peak, in the order of `ADVICE`."""
    return [(one.tensor, f"{one.saves:,}", one.text) for one in report.advice[:_MOST_ADVICE]]


def as_text(report: "MemoryReport") -> str:
    """Summary, memories if there are several, who is alive at the peak, and what would lower it."""
    lines = [
        f"Memory plan of {report.model}, method {report.plan.method}",
        f"{report.summary()}; planner {report.plan.planner}",
    ]
    if len(report.arenas) > 1:
        lines += ["", display.text_table(ARENAS, arena_rows(report))]
    if rows := peak_rows(report):
        lines += ["", peak_caption(report), display.text_table(PEAK, rows)]
    if rows := advice_rows(report):
        lines += ["", "what would lower the peak", display.text_table(ADVICE, rows)]
    if report.estimates:
        lines += ["", *report.estimates.lines()]
    return "\n".join(lines)
