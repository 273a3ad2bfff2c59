"""A profile as JSON for Chrome's and Perfetto's trace viewers ("Trace Event Format")."""

from typing import Any

from etlab.inspect.profile import ProfileReport
from etlab.runtime import TraceEvent

_PROCESS = 1
_INSTRUCTIONS, _NODES = 1, 2


def chrome_trace(report: ProfileReport) -> dict[str, Any]:
    """The traced runs, from the first one's start on; of an estimate one run as it is expected.

    One track holds runs and instructions, another the nodes of delegates.
    """
    runs = report.trace.runs if report.trace is not None else ()
    origin = runs[0].start if runs else 0
    events: list[dict[str, Any]] = [
        _name("process_name", _INSTRUCTIONS, f"{report.model}.{report.method}"),
        _name("thread_name", _INSTRUCTIONS, "instructions"),
        _name("thread_name", _NODES, "nodes of delegates"),
    ]
    for number, run in enumerate(runs):
        events.append(
            _complete(f"run {number}", "run", _INSTRUCTIONS, run.start - origin, run.duration, {})
        )
        for event in run.events:
            events += _of_instruction(event, origin)
    events += _estimated(report)
    metadata = {
        "model": report.model,
        "estimated": report.estimated,
        "threads": report.threads,
        "end_to_end_p50_ms": report.end_to_end.p50 * 1e3,
    }
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": metadata}


def _estimated(report: ProfileReport) -> list[dict[str, Any]]:
    """Estimated rows one after the other; nothing of a measured profile."""
    events: list[dict[str, Any]] = []
    ends = {_INSTRUCTIONS: 0, _NODES: 0}  # nanoseconds
    for row in report.rows if report.estimated else ():
        track = _NODES if row.part else _INSTRUCTIONS
        kind = "estimated node" if row.part else "estimated delegate"
        start = ends[track] if row.part else max(ends.values())
        duration = round(row.samples.p50 * 1e9)
        events.append(_complete(row.node, kind, track, start, duration, {}))
        ends[track] = start + duration
        if not row.part:
            ends[_NODES] = start
    return events


def _of_instruction(event: TraceEvent, origin: int) -> list[dict[str, Any]]:
    start = event.start - origin
    arguments: dict[str, Any] = {"instruction": event.instruction}
    found = [_complete(event.name, "instruction", _INSTRUCTIONS, start, event.duration, arguments)]
    for node in event.nodes:
        arguments = {"instruction": event.instruction, "debug_handle": node.debug_handle}
        found.append(
            _complete(node.name, "node", _NODES, node.start - origin, node.duration, arguments)
        )
    return found


def _complete(
    name: str, category: str, track: int, start: int, duration: int, arguments: dict[str, Any]
) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": _PROCESS,
        "tid": track,
        "ts": start / 1e3,  # microseconds
        "dur": duration / 1e3,
        "args": arguments,
    }


def _name(what: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": _PROCESS, "tid": track, "args": {"name": name}}
