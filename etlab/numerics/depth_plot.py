"""A metric along the depth of a model as an SVG: a line a path, dots for operators run alone."""

import math
from collections.abc import Sequence

from etlab import display
from etlab.numerics.layers import LayerRow
from etlab.numerics.metrics import metric

_WIDTH, _HEIGHT = 860, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 14, 12, 44
_COLOURS = {"exported": "#009E73", "quantized": "#E69F00", "native": "#0072B2"}
_MOST_POINTS = 400  # of a path: more of them lie over each other
_OTHERS = ("#CC79A7", "#56B4E9", "#D55E00")


def path_colour(path: str) -> str:
    """The colour of a path's line."""
    return _COLOURS.get(path, _OTHERS[len(path) % len(_OTHERS)])


def draw_depth(rows: Sequence[LayerRow], name: str) -> str:
    """The picture for the metric `name`; operators without values are left out."""
    order = {op: place for place, op in enumerate(dict.fromkeys(row.operator for row in rows))}
    series: dict[str, list[tuple[int, float]]] = {}
    dots: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        for table, found in ((series, row.accumulated), (dots, row.local)):
            value = None if found is None else found.values.get(name)
            if value is not None and value == value:
                table.setdefault(row.path, []).append((order[row.operator], value))
    finite = [v for table in (series, dots) for line in table.values() for _, v in line]
    finite = [value for value in finite if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    scale = _Scale(len(order), low, high if high > low else low + 1.0)
    parts = scale.axes(metric(name).label)
    left = float(_LEFT)
    for path in dict.fromkeys(row.path for row in rows):
        colour = path_colour(path)
        parts += _line(scale, series.get(path, ()), colour)
        parts += _dots(scale, dots.get(path, ()), colour)
        parts.append(
            f'<rect x="{left:.0f}" y="{_HEIGHT - 14}" width="12" height="4" fill="{colour}"/>'
            f'<text x="{left + 17:.0f}" y="{_HEIGHT - 8}">{display.escape(path)}</text>'
        )
        left += 44 + 7 * len(path)
    parts += _mark(scale, rows, order)
    parts.append(
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 8}" text-anchor="end">'
        "line: on own values, dots: alone on the reference's inputs</text>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="11">{"".join(parts)}</svg>'
    )


def depth_plot(rows: Sequence[LayerRow], name: str) -> str:
    """The picture as HTML."""
    words = f"{metric(name).label} of every operator, from the first to the last"
    return display.svg_image(draw_depth(rows, name), alternative=words, width=_WIDTH)


class _Scale:
    """Places of operators and values; what is exact stands on the upper edge."""

    def __init__(self, count: int, low: float, high: float) -> None:
        self._count, self._low, self._high = max(count, 2), low, high

    def x(self, place: int) -> float:
        return _LEFT + place * (_WIDTH - _LEFT - _RIGHT) / (self._count - 1)

    def y(self, value: float) -> float:
        share = (min(max(value, self._low), self._high) - self._low) / (self._high - self._low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def axes(self, label: str) -> list[str]:
        parts = [
            f'<text x="14" y="{(_HEIGHT - _BOTTOM) / 2:.0f}" transform="rotate(-90 14 '
            f'{(_HEIGHT - _BOTTOM) / 2:.0f})" text-anchor="middle">{display.escape(label)}</text>'
        ]
        for step in range(5):
            value = self._low + (self._high - self._low) * step / 4
            y = self.y(value)
            parts.append(
                f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>'
                f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>'
            )
        parts.append(
            f'<text x="{_LEFT}" y="{_HEIGHT - _BOTTOM + 14}">first operator</text>'
            f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - _BOTTOM + 14}" text-anchor="end">last of '
            f"{self._count}</text>"
        )
        return parts


def _line(scale: _Scale, points: Sequence[tuple[int, float]], colour: str) -> list[str]:
    if not points:
        return []
    drawn = _thinned(points)
    path = "L".join(f"{scale.x(place):.1f} {scale.y(value):.1f}" for place, value in drawn)
    return [f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>']


def _dots(scale: _Scale, points: Sequence[tuple[int, float]], colour: str) -> list[str]:
    return [
        f'<circle cx="{scale.x(place):.1f}" cy="{scale.y(value):.1f}" r="2" fill="{colour}" '
        'fill-opacity=".55"/>'
        for place, value in _thinned(points)
    ]


def _thinned(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Of more points than can be told apart the lowest and the highest of every stretch.

    >>> len(_thinned([(place, place % 7) for place in range(5000)])) <= 400
    True
    """
    if len(points) <= _MOST_POINTS:
        return list(points)
    step = math.ceil(len(points) / (_MOST_POINTS // 2))
    kept: list[tuple[int, float]] = []
    for start in range(0, len(points), step):
        stretch = points[start : start + step]
        ends = {min(stretch, key=_height), max(stretch, key=_height)}
        kept += sorted(ends)
    return kept


def _height(point: tuple[int, float]) -> float:
    return point[1]


def _mark(scale: _Scale, rows: Sequence[LayerRow], order: dict[str, int]) -> list[str]:
    """A red line at the first operator that diverges, with its name."""
    first = next((row for row in rows if row.diverges), None)
    if first is None:
        return []
    x = scale.x(order[first.operator])
    side = "end" if x > _WIDTH / 2 else "start"
    return [
        f'<path d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="#D55E00" stroke-dasharray="4 3"/>'
        f'<text x="{x + (-5 if side == "end" else 5):.1f}" y="{_TOP + 10}" text-anchor="{side}" '
        f'fill="#D55E00">≠ {display.escape(first.operator)}</text>'
    ]
