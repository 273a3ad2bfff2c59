"""A `DelegationReport` on one screen of text."""

from etlab import display
from etlab.inspect.delegation import OWN_KERNELS, DelegationReport, summary, total
from etlab.inspect.delegation_rows import ReasonGroup

_BAR = 40
_MOST_REASONS = 8


def delegation_text(report: DelegationReport) -> str:
    """Shares as bars, then reasons with what would help; at most 30 lines."""
    lines = [f"{report.model}, partitioner {report.partitioner}: {summary(report)}"]
    for weight, shares in report.shares.items():
        delegated = 1 - shares[OWN_KERNELS]
        bar = "#" * round(delegated * _BAR)
        lines.append(f"  {weight:5}  {bar:.<{_BAR}}  {delegated:6.1%} delegated")
    if report.borders and report.parts:
        lines.append(f"  borders  {border_text(report)}")
    lines += [f"  {line}" for line in (report.estimates.lines() if report.estimates else ())]
    groups = report.reasons
    if groups:
        lines.append(f"{len(report.rejected)} calls stay with our kernels:")
    for group in groups[:_MOST_REASONS]:
        lines.append(f"  {group.calls:4} x {_shortened(group.operators)}: {group.reason}")
        if group.help:
            lines.append(f"         what would help: {group.help}")
    if len(groups) > _MOST_REASONS:
        rest = sum(group.calls for group in groups[_MOST_REASONS:])
        lines.append(f"  and {rest} more for {len(groups) - _MOST_REASONS} reasons: .reasons")
    return "\n".join(lines)


def border_text(report: DelegationReport) -> str:
    """`12 tensors, 1.2 MiB cross`."""
    count = len(report.borders)
    size = total(border.nbytes for border in report.borders)
    sized = "" if size is None else f", {display.format_bytes(size)}"
    return f"{count} tensor{'' if count == 1 else 's'}{sized}, into and out of delegates"


def amount_text(group: ReasonGroup) -> list[str]:
    """Bytes, FLOPs and time of a group as cells."""
    return [
        "" if group.nbytes is None else display.format_bytes(group.nbytes),
        "" if group.flops is None else format_flops(group.flops),
        "" if group.seconds is None else format_seconds(group.seconds),
    ]


def format_flops(count: int) -> str:
    """A number of operations for people.

    >>> format_flops(771_000_000), format_flops(0)
    ('771.0 M', '0')
    """
    size = float(count)
    for unit in ("", "k", "M", "G"):
        if size < 1000:
            return f"{size:.1f} {unit}" if unit else str(count)
        size /= 1000
    return f"{size:.1f} T"


def format_seconds(seconds: float) -> str:
    """A time for people.

    >>> format_seconds(0.00213), format_seconds(0.0000471)
    ('2.13 ms', '47.1 µs')
    """
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
