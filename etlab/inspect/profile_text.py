"""A profile as text."""

from etlab import display
from etlab.inspect.profile import ProfileReport
from etlab.inspect.profile_rows import ProfileRow

COLUMNS = ("node", "operator", "module", "p50 ms", "p90 ms", "share", "GFLOP/s", "GB/s", "of roof")
NUMERIC = COLUMNS[3:]
_MOST_ROWS = 20


def headline(report: ProfileReport) -> list[str]:
    """What was measured, in sentences; the sum never stands alone."""
    if report.estimates:
        return [f"not measured: {report.estimated}", *report.estimates.lines()]
    sums = report.sum_of_parts
    lines = [
        f"end to end: {report.end_to_end} ({report.runs} calls without tracing,"
        f" spread {report.end_to_end.spread:.0%})",
        f"sum of the instructions: p50 {display.milliseconds(sums.p50)} of traced runs, which take"
        f" {report.overhead:+.1%} end to end; the difference to end to end is inputs, outputs and"
        " what lies between instructions",
        f"warm-up: the first of {len(report.warm_up.seconds)} calls took"
        f" {display.milliseconds(report.warm_up.seconds[0])}",
    ]
    lines += [f"no device's times: {text}" for text in report.stand_ins]
    if report.roofline is not None:
        lines.append(f"this machine, measured: {report.roofline}")
    return lines


def circumstances(report: ProfileReport) -> str:
    """Method, threads and runs, or that nothing ran."""
    if report.estimated:
        return f"method {report.method}, estimated, not measured"
    threads = f"{report.threads} thread{'' if report.threads == 1 else 's'}"
    return f"method {report.method}, {threads}, {report.runs} runs"


def slowest(report: ProfileReport, count: int = _MOST_ROWS) -> list[ProfileRow]:
    """The rows that do not overlap with the most time."""
    rows = sorted(report.leaves, key=lambda row: (-row.samples.p50, row.node))
    return rows[:count]


def cells(report: ProfileReport, row: ProfileRow) -> tuple[str, ...]:
    """A row as text, in the order of `COLUMNS`."""
    total = report.sum_of_leaves.p50 or 1.0
    return (
        row.node,
        row.operator,
        row.module,
        f"{row.samples.p50 * 1e3:.4f}",
        f"{row.samples.p90 * 1e3:.4f}",
        f"{row.samples.p50 / total:.1%}",
        "" if row.gflops is None else f"{row.gflops:.1f}",
        "" if row.gbps is None else f"{row.gbps:.1f}",
        "" if row.of_roof is None else f"{row.of_roof:.0%}",
    )


def as_text(report: ProfileReport) -> str:
    """Headline, operators, slowest rows."""
    count = len(report.leaves)
    rows = slowest(report)
    rest = f"\n… and {count - len(rows)} more: to_dataframe()" if count > len(rows) else ""
    return "\n".join(
        [
            f"Profile of {report.model}, {circumstances(report)}",
            *headline(report),
            "",
            str(report.by_operator),
            "",
            display.text_table(COLUMNS, [cells(report, row) for row in rows]) + rest,
        ]
    )
