"""A memory plan in Chrome's trace format: an instruction a thread, an arena a process."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from etlab.errors import AccessError
from etlab.exir.memory.plan import MemoryPlan


def plan_events(plan: MemoryPlan, *, at_offsets: bool, with_sources: bool) -> list[dict[str, Any]]:
    """One event for each tensor at each step where it is alive.

    Args:
        plan: of one method.
        at_offsets: tensors begin at their offsets; else behind the one before.
        with_sources: say operator, module and source line.
    """
    events: list[dict[str, Any]] = []
    for step in range(len(plan.steps)):
        ends: dict[int, int] = defaultdict(int)  # by arena, of the tensors so far
        for tensor in plan.at(step):
            arguments: dict[str, Any] = {"bytes": tensor.nbytes, "Memory ID": tensor.memory_id}
            if with_sources:
                arguments |= {"op_name": tensor.operator, "fqn": tensor.module}
                arguments["source"] = tensor.source
            events.append(
                {
                    "name": tensor.name,
                    "cat": "memory_allocation",
                    "ph": "X",
                    "ts": tensor.offset if at_offsets else ends[tensor.memory_id],
                    "dur": tensor.nbytes,
                    "pid": tensor.memory_id,
                    "tid": step,
                    "args": arguments,
                }
            )
            ends[tensor.memory_id] += tensor.nbytes
    return events


def write_events(events: list[dict[str, Any]], path: str | Path) -> None:
    """Write events as Chrome reads them.

    Raises:
        AccessError: the place cannot be written.
    """
    try:
        Path(path).write_text(json.dumps({"traceEvents": events}, indent=2), encoding="utf-8")
    except OSError as error:
        raise AccessError(f"cannot write {path}: {error.strerror or error}") from error
