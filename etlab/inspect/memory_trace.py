"""A memory plan as JSON for Chrome's and Perfetto's trace viewers ("Trace Event Format").

A step is a microsecond, for these viewers know no other axis.
"""

from typing import Any

from etlab.exir.memory.plan import MemoryPlan
from etlab.exir.provenance import short_operator

_PROCESS = 1


def memory_trace(plan: MemoryPlan, model: str) -> dict[str, Any]:
    """Tensors as intervals of steps, one track a memory, and the bytes alive as a counter."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": _PROCESS, "args": {"name": f"memory of {model}"}}
    ]
    for tensor in plan.tensors:
        common = {
            "name": tensor.name,
            "cat": f"memory {tensor.memory_id}",
            "id": tensor.id,
            "pid": _PROCESS,
            "tid": tensor.memory_id,
        }
        described = {
            "operator": short_operator(tensor.operator),
            "module": tensor.module,
            "source": tensor.source,
            "nbytes": tensor.nbytes,
            "offset": tensor.offset,
        }
        events.append({**common, "ph": "b", "ts": tensor.first_use, "args": described})
        events.append({**common, "ph": "e", "ts": tensor.last_use + 1})
    events += [
        {"ph": "C", "name": "bytes alive", "pid": _PROCESS, "ts": step, "args": {"alive": alive}}
        for step, alive in enumerate(plan.live_bytes)
    ]
    numbers = {"model": model, "peak": plan.peak, "lower_bound": plan.lower_bound}
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": numbers}
