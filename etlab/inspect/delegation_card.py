"""The card that a notebook shows for a `DelegationReport`."""

from etlab import display
from etlab.inspect.delegation import DelegationReport, summary
from etlab.inspect.delegation_picture import draw_svg
from etlab.inspect.delegation_rows import Border, Call, DelegatedPart, ReasonGroup
from etlab.inspect.delegation_text import (
    amount_text,
    border_text,
    format_flops,
    format_seconds,
)

_MOST_ROWS = 16
_MOST_PLACES = 8


def delegation_card(report: DelegationReport) -> str:
    """Picture first, then reasons in groups, then tables behind summary lines."""
    pieces = [display.svg_image(draw_svg(report), alternative=_alternative(report))]
    groups = report.reasons
    if groups:
        pieces.append(f'<div style="font-weight:600;margin-top:6px">{_left(report)}</div>')
    pieces += [_group(report, group) for group in groups[:_MOST_ROWS]]
    if report.parts:
        title = f"{len(report.parts)} delegated part{'' if len(report.parts) == 1 else 's'}"
        pieces.append(display.details(title, _parts(report.parts, is_timed=bool(report.runs))))
        pieces.append(display.details(f"borders: {border_text(report)}", _borders(report.borders)))
    if report.estimates:
        pieces += [f"<div>{display.escape(line)}</div>" for line in report.estimates.lines()]
        estimated = report.estimates.operators
        pieces.append(display.details(str(estimated.title), estimated._repr_html_()))
    pieces.append(display.details(f"{len(report.by_op)} operators", _operators(report)))
    measured = f"; times are medians of {report.runs} runs" if report.runs else ""
    return display.card(
        f"Delegation of {report.model}",
        *pieces,
        subtitle=f"partitioner {report.partitioner}: {summary(report)}{measured}",
    )


def _alternative(report: DelegationReport) -> str:
    """The bars in words, for who cannot see them."""
    texts = [
        f"{weight}: " + ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
        for weight, shares in report.shares.items()
    ]
    return f"who computes {report.model}; " + "; ".join(texts)


def _left(report: DelegationReport) -> str:
    count = len(report.rejected)
    stay = "call stays" if count == 1 else "calls stay"
    return f"{count} {stay} with our kernels"


def _group(report: DelegationReport, group: ReasonGroup) -> str:
    calls = [
        call
        for call in report.calls
        if not call.part and (call.kind, call.help) == (group.reason, group.help)
    ]
    nbytes, flops, seconds = amount_text(group)
    facts = ", ".join(
        text
        for text in (
            f"{group.calls} x {group.operators}",
            nbytes,
            f"{flops} FLOPs" if group.flops else "",
            seconds,
        )
        if text
    )
    fix = (
        f'<div style="padding-left:14px"><b>What would help</b> {display.escape(group.help)}</div>'
        if group.help
        else ""
    )
    return (
        '<div class="etlab-reason" style="border-left:4px solid #999999;padding:2px 10px;'
        f'margin:6px 0"><div>{display.escape(group.reason)}</div>{fix}'
        f"{display.details(facts, _places(calls))}</div>"
    )


def _places(calls: list[Call]) -> str:
    columns = ["node", "operator", "module", "source", "line", "why"]
    rows = [
        [call.node, call.operator, call.module, call.source, call.line, call.reason]
        for call in calls[:_MOST_PLACES]
    ]
    if len(calls) > _MOST_PLACES:
        rows.append([f"and {len(calls) - _MOST_PLACES} more in .rejected", *[""] * 5])
    return display.table(columns, rows)


def _parts(parts: tuple[DelegatedPart, ...], *, is_timed: bool) -> str:
    columns = ["part", "backend", "operators", "in", "out", "payload"]
    timed = ["time"] if is_timed else []
    rows = [
        [
            part.name,
            part.backend,
            ", ".join(f"{name} {count}" for name, count in part.operators.items()),
            _bytes(part.bytes_in),
            _bytes(part.bytes_out),
            _bytes(part.payload),
            *([format_seconds(part.seconds or 0.0)] if is_timed else []),
        ]
        for part in parts[:_MOST_ROWS]
    ]
    return _cut([*columns, *timed], rows, len(parts), [*columns[3:], *timed])


def _borders(borders: tuple[Border, ...]) -> str:
    largest = sorted(borders, key=lambda border: -(border.nbytes or 0))
    columns = ["tensor", "made by", "used by", "shape", "dtype", "bytes"]
    rows = [
        [
            one.tensor,
            one.made_by,
            one.used_by,
            " x ".join(map(str, one.shape)) or "scalar",
            one.dtype,
            _bytes(one.nbytes),
        ]
        for one in largest[:_MOST_ROWS]
    ]
    return _cut(columns, rows, len(borders), ["bytes"])


def _operators(report: DelegationReport) -> str:
    columns = ["operator", "calls", "delegated", "bytes", "FLOPs"]
    timed = ["time with our kernels"] if report.runs else []
    rows = [
        [
            one.operator,
            str(one.calls),
            str(one.delegated),
            "" if one.nbytes is None else display.format_bytes(one.nbytes),
            "" if one.flops is None else format_flops(one.flops),
            *([format_seconds(one.own_seconds)] if one.own_seconds is not None else [""])[
                : len(timed)
            ],
        ]
        for one in report.by_op[:_MOST_ROWS]
    ]
    return _cut([*columns, *timed], rows, len(report.by_op), [*columns[1:], *timed])


def _cut(columns: list[str], rows: list[list[str]], count: int, numeric: list[str]) -> str:
    if count > len(rows):
        rows = [*rows, [f"and {count - len(rows)} more", *[""] * (len(columns) - 1)]]
    return display.table(columns, rows, numeric=numeric)


def _bytes(count: int | None) -> str:
    return "dynamic" if count is None else display.format_bytes(count)
