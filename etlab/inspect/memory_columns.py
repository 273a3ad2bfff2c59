"""A memory plan as columns for a page: one row a tensor, one a step."""

from typing import TYPE_CHECKING, Any

import numpy as np

from etlab.exir.memory.planners import list_planners
from etlab.exir.provenance import short_operator
from etlab.inspect.columns import coded, packed

if TYPE_CHECKING:
    from etlab.exir.memory.plan import MemoryPlan


def planners_for(plan: "MemoryPlan") -> list[str]:
    """All planners by name; first the plan's own where a file does not say what made it."""
    planners = list_planners()
    return planners if plan.planner in planners else [plan.planner, *planners]


def plan_columns(plan: "MemoryPlan") -> dict[str, Any]:
    """The tensors and steps, and the bytes alive at every step."""
    tensors = plan.tensors
    return {
        "names": [tensor.name for tensor in tensors],
        "operator": coded([short_operator(tensor.operator) for tensor in tensors]),
        "module": coded([tensor.module for tensor in tensors]),
        "dtype": coded([str(tensor.dtype).removeprefix("torch.") for tensor in tensors]),
        "source": coded([tensor.source for tensor in tensors]),
        "shape": coded([" x ".join(map(str, tensor.shape)) for tensor in tensors]),
        "arena": packed([tensor.memory_id for tensor in tensors], np.int32),
        "first": packed([tensor.first_use for tensor in tensors], np.int32),
        "last": packed([tensor.last_use for tensor in tensors], np.int32),
        "offset": packed([tensor.offset for tensor in tensors]),
        "nbytes": packed([tensor.nbytes for tensor in tensors]),
        "live": packed(plan.live_bytes),
        "steps": coded([short_operator(step) for step in plan.steps]),
    }
