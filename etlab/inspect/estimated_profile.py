"""A profile of what cannot run here, made of what compilers expect of its device."""

from collections.abc import Iterator

from etlab.exir.provenance import module_of, source_of
from etlab.inspect.estimates import EstimatedPart, EstimateReport
from etlab.inspect.profile import ProfileReport
from etlab.inspect.profile_rows import ProfileRow, Samples


def estimated_profile(report: EstimateReport, method: str) -> ProfileReport:
    """A profile whose every time is an estimate; calls of others have no times, so no rows.

    Args:
        report: with at least one estimate.
        method: that would run.
    """
    whole = Samples((report.seconds,))
    rows = tuple(row for part in report.parts for row in _rows(part))
    estimated = (
        f"{report.sources} estimates these times; nobody measured them, and what other parts of the"
        " program need is in none of them"
    )
    return ProfileReport(
        report.model, method, 0, rows, whole, whole, whole, estimated=estimated, estimates=report
    )


def _rows(part: EstimatedPart) -> Iterator[ProfileRow]:
    estimate = part.estimate
    seconds = Samples((estimate.seconds,))
    yield ProfileRow(
        part.call, part.backend, "delegate", part.backend, "", "", "", 1, seconds,
        2 * estimate.macs,
    )  # fmt: skip
    nodes = {node.name: node for node in part.graph.graph.nodes} if part.graph is not None else {}
    names: dict[str, int] = {}
    for one in estimate.operators:
        names[one.name] = names.get(one.name, 0) + 1
        again = f" ({names[one.name]})" if names[one.name] > 1 else ""
        node = nodes.get(one.node)
        yield ProfileRow(
            node=f"{part.call}/{one.name}{again}",
            operator=one.kind,
            kind="delegate node",
            backend=part.backend,
            part=part.call,
            module="" if node is None else module_of(node),
            source="" if node is None else source_of(node),
            calls=1,
            samples=Samples((one.cycles / estimate.clock,)),
            flops=2 * one.macs,
        )
