"""A profile as pictures: a run as a bar of its parts, and the roofline."""

import math

from etlab import display
from etlab.inspect.profile import ProfileReport
from etlab.inspect.profile_rows import ProfileRow
from etlab.inspect.profile_text import COLUMNS, NUMERIC, cells, circumstances, headline, slowest

_WIDTH = 860
_LEFT, _RIGHT = 60, 20
_BAR = 26
_PLOT_TOP, _PLOT_HEIGHT = 70, 220
_MOST_DOTS = 300
# Colours that are told apart with any kind of sight (Okabe and Ito).
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
_REST = "#BBBBBB"


def as_html(report: ProfileReport) -> str:
    """A card: picture, groups, slowest rows."""
    rows = [cells(report, row) for row in slowest(report)]
    tables = (report.by_operator, report.by_module, report.by_source)
    return display.card(
        f"Profile of {report.model}",
        *(f"<div>{display.escape(line)}</div>" for line in headline(report)),
        display.svg_image(report.to_svg(), alternative=repr(report), width=_WIDTH),
        display.table(COLUMNS, rows, caption="slowest", numeric=NUMERIC),
        *(display.details(f"by {table.title}", table._repr_html_()) for table in tables if table),
        subtitle=circumstances(report),
    )


def draw_svg(report: ProfileReport) -> str:
    """The picture."""
    groups = report.by_operator
    colours = {group.name: _COLOURS[i] for i, group in enumerate(groups[: len(_COLOURS)])}
    parts = _strip(report, colours)
    height = _PLOT_TOP
    if report.roofline is not None:
        parts += _roofline(report, colours)
        height += _PLOT_HEIGHT + 40
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="sans-serif" font-size="11">{"".join(parts)}</svg>'
    )


def _strip(report: ProfileReport, colours: dict[str, str]) -> list[str]:
    """The operators of a run by their time, and how long end to end is beside their sum."""
    total = sum(group.p50_ms for group in report.by_operator) or 1.0
    end_to_end = report.end_to_end.p50 * 1e3
    scale = (_WIDTH - _LEFT - _RIGHT) / max(total, end_to_end)
    whole = "estimated, not measured:" if report.estimated else "end to end"
    parts = [f'<text x="{_LEFT - 8}" y="20" text-anchor="end">parts</text>']
    left = float(_LEFT)
    for group in report.by_operator:
        width = group.p50_ms * scale
        title = display.escape(f"{group.name}: {group.p50_ms:.4f} ms, {group.share:.1%}")
        colour = colours.get(group.name, _REST)
        parts.append(
            f'<rect x="{left:.1f}" y="4" width="{width:.1f}" height="{_BAR}" fill="{colour}" '
            f'stroke="#fff" stroke-width="0.5"><title>{title}</title></rect>'
        )
        if width > 60:
            parts.append(
                f'<text x="{left + width / 2:.1f}" y="21" text-anchor="middle" stroke="#fff" '
                'stroke-width="3" paint-order="stroke" font-weight="600">'
                f"{display.escape(group.name[: int(width / 7)])}</text>"
            )
        left += width
    parts.append(f'<text x="{_LEFT - 8}" y="48" text-anchor="end">whole</text>')
    parts.append(
        f'<rect x="{_LEFT}" y="36" width="{end_to_end * scale:.1f}" height="16" fill="none" '
        f'stroke="#444"/><text x="{_LEFT + 6}" y="48">{whole} {end_to_end:.3f} ms; parts sum to'
        f" {total:.3f} ms</text>"
    )
    return parts


def _roofline(report: ProfileReport, colours: dict[str, str]) -> list[str]:
    """GFLOP/s over FLOPs a byte, both logarithmic: the limits, and a dot for each row."""
    roof = report.roofline
    assert roof is not None
    dots = [row for row in report.leaves if row.flops and row.nbytes and row.samples.p50]
    dots.sort(key=lambda row: -row.samples.p50)
    dots = dots[:_MOST_DOTS]
    intensities = [_intensity(row) for row in dots]
    low, high = min([roof.ridge / 30, *intensities]), max([roof.ridge * 10, *intensities])
    top = max([roof.flops / 1e9, *(row.gflops or 0 for row in dots)])
    bottom = min([low * roof.bandwidth / 1e9, *(row.gflops or top for row in dots)]) / 1.5

    def x(intensity: float) -> float:
        share = math.log(intensity / low) / math.log(high / low)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(gflops: float) -> float:
        share = math.log(max(gflops, bottom) / bottom) / math.log(top * 1.2 / bottom)
        return _PLOT_TOP + _PLOT_HEIGHT * (1 - share)

    peak = roof.flops / 1e9
    at_low = max(low * roof.bandwidth / 1e9, bottom)
    start = at_low * 1e9 / roof.bandwidth
    base = _PLOT_TOP + _PLOT_HEIGHT
    parts = [
        f'<path d="M{_LEFT} {_PLOT_TOP}V{base}H{_WIDTH - _RIGHT}" fill="none" stroke="#444"/>',
        f'<path d="M{x(start):.1f} {y(at_low):.1f}L{x(roof.ridge):.1f} {y(peak):.1f}'
        f'H{_WIDTH - _RIGHT}" fill="none" stroke="#444" stroke-width="2"/>',
        f'<text x="{_WIDTH - _RIGHT}" y="{y(peak) - 5:.1f}" text-anchor="end">{peak:.0f} GFLOP/s'
        "</text>",
        f'<text x="{x(start) + 6:.1f}" y="{y(at_low) - 8:.1f}">{roof.bandwidth / 1e9:.0f} GB/s'
        "</text>",
        f'<text x="{(_LEFT + _WIDTH) / 2}" y="{base + 28}" text-anchor="middle">FLOPs a byte: '
        f"{low:.2g} to {high:.3g}, logarithmic</text>",
        f'<text x="{_LEFT - 8}" y="{_PLOT_TOP + 10}" text-anchor="end">GFLOP/s</text>',
    ]
    slowest_time = dots[0].samples.p50 if dots else 1.0
    for row in dots:
        radius = 2 + 6 * math.sqrt(row.samples.p50 / slowest_time)
        title = display.escape(
            f"{row.node}: {row.gflops:.1f} GFLOP/s, {row.samples.p50 * 1e3:.4f} ms"
        )
        parts.append(
            f'<circle cx="{x(_intensity(row)):.1f}" cy="{y(row.gflops or bottom):.1f}" '
            f'r="{radius:.1f}" fill="{colours.get(row.operator, _REST)}" fill-opacity="0.7" '
            f'stroke="#222" stroke-width="0.5"><title>{title}</title></circle>'
        )
    return parts


def _intensity(row: ProfileRow) -> float:
    return (row.flops or 0) / (row.nbytes or 1)
