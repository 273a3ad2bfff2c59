"""A profile as columns for a page: one row an instruction or node of a delegate."""

from typing import TYPE_CHECKING, Any

from etlab.inspect.columns import coded, packed

if TYPE_CHECKING:
    from etlab.inspect.profile import ProfileReport
    from etlab.inspect.profile_rows import Samples


def profile_columns(report: "ProfileReport") -> dict[str, Any]:
    """The rows with their times in every run, seconds, and what was measured as a whole."""
    rows = report.rows
    places = {row.node: place for place, row in enumerate(rows)}
    nothing = float("nan")
    return {
        "title": f"{report.model}, {report.method}",
        "threads": report.threads,
        "runs": report.runs,
        "names": [row.node for row in rows],
        "operator": coded([row.operator for row in rows]),
        "kind": coded([row.kind for row in rows]),
        "backend": coded([row.backend for row in rows]),
        "module": coded([row.module for row in rows]),
        "source": coded([row.source for row in rows]),
        "parent": packed([places.get(row.part, -1) if row.part else -1 for row in rows], "int32"),
        "calls": packed([row.calls for row in rows], "int32"),
        "seconds": packed([one for row in rows for one in row.samples.seconds]),
        "flops": packed([nothing if row.flops is None else row.flops for row in rows]),
        "nbytes": packed([nothing if row.nbytes is None else row.nbytes for row in rows]),
        "roof": packed([nothing if row.roof is None else row.roof for row in rows]),
        "endToEnd": _whole(report.end_to_end),
        "traced": _whole(report.traced),
        "sum": _whole(report.sum_of_parts),
        "estimated": report.estimated,
        "peak": None if report.roofline is None else report.roofline.flops,
        "bandwidth": None if report.roofline is None else report.roofline.bandwidth,
    }


def _whole(samples: "Samples") -> dict[str, Any]:
    return {"p50": samples.p50, "p90": samples.p90, "seconds": list(samples.seconds)}
