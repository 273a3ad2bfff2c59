"""What would lower the peak of a memory plan: every tensor alive there, and a remedy for each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import torch

from etlab import display
from etlab.exir.provenance import short_operator

if TYPE_CHECKING:
    from etlab.exir.memory.plan import MemoryPlan, PlannedTensor

_COPIES = frozenset({"clone", "permute_copy", "transpose_copy", "_to_dim_order_copy"})
_FEWEST_BYTES = 0.02  # of the lower bound; what saves less is not worth a remark


@dataclass(frozen=True, slots=True)
class Advice:
    """A change that lowers the peak.

    Attributes:
        tensor: what it is about; empty for the plan as a whole.
        saves: bytes that the arenas, or their lower bound, would lose.
        text: what to do.
    """

    tensor: str
    saves: int
    text: str


def advice_on(plan: "MemoryPlan") -> tuple[Advice, ...]:
    """Remedies for what is alive at the peak, the largest saving first.

    Each saving is exact, and that of one change alone: where two steps need equally much, the
    other one stays.
    """
    found = list(_of_the_whole(plan))
    highest = max(plan.live_bytes)
    before, after = _highest_before(plan.live_bytes), _highest_before(plan.live_bytes[::-1])[::-1]
    for tensor in plan.at(plan.peak_step):
        alive = slice(tensor.first_use, tensor.last_use + 1)
        outside = max(before[tensor.first_use], after[tensor.last_use])
        for text, share in _remedies(tensor, plan):
            less = tensor.nbytes - int(tensor.nbytes * (1 - share))
            peak = max(outside, max(plan.live_bytes[alive]) - less)
            found.append(Advice(tensor.name, highest - peak, text))
    least = max(_FEWEST_BYTES * plan.lower_bound, 1)
    kept = [one for one in found if one.saves >= least]
    return tuple(sorted(kept, key=lambda one: (-one.saves, one.tensor, one.text)))


def _highest_before(levels: Sequence[int]) -> list[int]:
    """The largest of all levels before each one; 0 before the first.

    >>> _highest_before([3, 1, 5, 2])
    [0, 3, 3, 5]
    """
    return [0, *accumulate(levels, max)][:-1]


def _of_the_whole(plan: "MemoryPlan") -> Iterator[Advice]:
    waste = plan.peak - plan.lower_bound
    if waste > 0:
        yield Advice(
            "",
            waste,
            f"the arenas take {display.format_bytes(waste)} more than the tensors need at once:"
            " try other planners (what_if() compares them)",
        )


def _remedies(tensor: "PlannedTensor", plan: "MemoryPlan") -> Iterator[tuple[str, float]]:
    """What to do about a tensor at the peak, and which share of its saving that brings."""
    step = plan.peak_step
    operator = short_operator(tensor.operator)
    if operator == "input":
        yield (
            "is an input with memory of its own: MemoryPlanningPass(alloc_graph_input=False) uses"
            " the caller's",
            1.0,
        )
    elif tensor.last_use == len(plan.steps) - 1 and tensor.first_use == step:
        yield (
            "is an output with memory of its own: MemoryPlanningPass(alloc_graph_output=False)"
            " leaves it to the caller",
            1.0,
        )
    elif operator == "constant_pad_nd":
        yield (
            "is a padded copy: an equal padding on both sides can be the convolution's own"
            " (padding=), which needs no copy",
            1.0,
        )
    elif operator in _COPIES:
        yield "is a copy in another layout: keep one layout through this part of the model", 1.0
    elif tensor.first_use < step < tensor.last_use:
        used = f"from step {tensor.first_use} to step {tensor.last_use}"
        yield (
            f"waits {used} without being used at the peak: use it earlier, compute it again, or"
            " spill it to a slower memory (memories=)",
            1.0,
        )
    if tensor.dtype == torch.float32 and operator != "state":
        yield "is float32: as float16 it is half as large, as int8 a quarter", 0.5
    if operator == "state" and tensor.dtype == torch.float32:
        yield "is state in float32: keep it in half precision or int8", 0.5
