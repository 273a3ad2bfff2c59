"""Who computes what as an SVG: a bar for each weight, and the model in order of execution."""

from collections.abc import Sequence
from itertools import groupby

from etlab import display
from etlab.inspect.delegation import OWN_KERNELS, DelegationReport

_WIDTH, _LEFT, _RIGHT = 860, 70, 12
_BAR, _GAP = 20, 8
_MOST_BLOCKS = 256


def draw_svg(report: DelegationReport) -> str:
    """The picture; a model of many thousand calls takes below 40 kB."""
    names = sorted({part.backend for part in report.parts})
    colours = {**display.backend_colours(names), OWN_KERNELS: "url(#own)"}
    shares = report.shares
    parts: list[str] = []
    top = 6
    for weight, who in shares.items():
        parts += _bar(top, weight, who, colours)
        top += _BAR + _GAP
    if report.calls:
        parts += _strip(top + 4, report, colours)
        top += _BAR + 34
    parts += _legend(top, [*names, OWN_KERNELS], colours)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top + 22}" '
        f'font-family="sans-serif" font-size="11">{_own_pattern()}{"".join(parts)}</svg>'
    )


def _own_pattern() -> str:
    """Grey with hatches: told apart without colours, too."""
    return (
        '<defs><pattern id="own" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="6" height="6" fill="#d9d9d9"/>'
        f'<path d="M0 0V6" stroke="{display.OWN_COLOUR}" stroke-width="2"/></pattern></defs>'
    )


def _bar(top: int, weight: str, shares: dict[str, float], colours: dict[str, str]) -> list[str]:
    parts = [f'<text x="{_LEFT - 8}" y="{top + 14}" text-anchor="end">{weight}</text>']
    left = float(_LEFT)
    for name, share in shares.items():
        width = share * (_WIDTH - _LEFT - _RIGHT)
        if not width:
            continue
        parts.append(_block(left, top, width, colours[name]))
        if width > 44:
            parts.append(
                f'<text x="{left + width / 2:.1f}" y="{top + 14}" text-anchor="middle" '
                'stroke="#fff" stroke-width="3" paint-order="stroke" font-weight="600">'
                f"{share:.1%}</text>"
            )
        left += width
    return parts


def _strip(top: int, report: DelegationReport, colours: dict[str, str]) -> list[str]:
    """The calls from first to last: a block a part, or columns that show their shares."""
    end, count = _WIDTH - _RIGHT, len(report.calls)
    blocks = [
        (sum(1 for _ in group), colours[backend if part else OWN_KERNELS])
        for (part, backend), group in groupby(report.calls, lambda call: (call.part, call.backend))
    ]
    is_dense = len(blocks) > _MOST_BLOCKS
    drawn = _columns(top, report, colours) if is_dense else _blocks(top, blocks, count)
    return [
        f'<text x="{_LEFT - 8}" y="{top + 14}" text-anchor="end">order</text>',
        *drawn,
        f'<text x="{_LEFT}" y="{top + _BAR + 12}">first call</text>',
        f'<text x="{end}" y="{top + _BAR + 12}" text-anchor="end">last of {count}</text>',
    ]


def _blocks(top: int, blocks: Sequence[tuple[int, str]], count: int) -> list[str]:
    step = (_WIDTH - _LEFT - _RIGHT) / count
    drawn, place = [], 0
    for length, colour in blocks:
        drawn.append(_block(_LEFT + place * step, top, length * step, colour))
        place += length
    return drawn


def _columns(top: int, report: DelegationReport, colours: dict[str, str]) -> list[str]:
    """Neighbouring calls in columns, each filled by the shares of who runs them."""
    paths: dict[str, list[str]] = {}
    step = (_WIDTH - _LEFT - _RIGHT) / _MOST_BLOCKS
    count = len(report.calls)
    for column in range(_MOST_BLOCKS):
        first, last = column * count // _MOST_BLOCKS, (column + 1) * count // _MOST_BLOCKS
        names = sorted(call.backend or OWN_KERNELS for call in report.calls[first:last])
        y = float(top)
        for name, group in groupby(names):
            height = _BAR * sum(1 for _ in group) / len(names)
            paths.setdefault(colours[name], []).append(
                f"M{_LEFT + column * step:.1f} {y:.1f}h{step:.1f}v{height:.1f}h-{step:.1f}z"
            )
            y += height
    return [f'<path fill="{colour}" d="{"".join(path)}"/>' for colour, path in paths.items()]


def _block(left: float, top: int, width: float, colour: str) -> str:
    return (
        f'<rect x="{left:.1f}" y="{top}" width="{max(width, 0.4):.1f}" height="{_BAR}" '
        f'fill="{colour}" stroke="#fff" stroke-width=".6"/>'
    )


def _legend(top: int, names: Sequence[str], colours: dict[str, str]) -> list[str]:
    parts, left = [], float(_LEFT)
    for name in names:
        parts.append(
            f'<rect x="{left:.0f}" y="{top}" width="12" height="12" fill="{colours[name]}"/>'
            f'<text x="{left + 17:.0f}" y="{top + 10}">{display.escape(name)}</text>'
        )
        left += 38 + 6.4 * len(name)
    return parts
