"""The Pareto front of a sweep as an SVG: the second objective to the right, the first upwards."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from etlab import display

if TYPE_CHECKING:
    from etlab.sweeping.objectives import Objective
    from etlab.sweeping.report import Sweep, SweepRow

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 30, 24, 46
_FRONT, _OTHER = "#0072B2", "#8a8a8a"
_TICKS = 4
_LETTER = 5.8  # wide on the average, in this size


class _Axis:
    """From values to places: what is infinite stands at the end, and small ranges have room."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        finite = [value for value in values if math.isfinite(value)]
        low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
        room = (high - low) * 0.08 or abs(high) * 0.08 or 1.0
        self._low, self._high = low - room, high + room
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        inside = min(max(value, self._low), self._high)
        share = (inside - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> list[float]:
        step = (self._high - self._low) / _TICKS
        return [self._low + step * number for number in range(_TICKS + 1)]


def draw_front(sweep: "Sweep") -> str:
    """Hollow grey marks for what is dominated, full blue ones with names for what is not.

    The front is that of all objectives: with more than two, a marked point may lie inside of the
    cloud, and no line joins them. Empty when there are fewer than two objectives or no values.
    """
    if len(sweep.objectives) < 2:
        return ""
    upward, rightward = sweep.objectives[:2]
    front = {row.key for row in sweep.pareto.rows}
    points: list[tuple[float, float, SweepRow]] = []
    for row in sweep.rows:
        x, y = row.values.get(rightward.name), row.values.get(upward.name)
        if x is not None and y is not None and not math.isnan(x + y if x + y == x + y else x - y):
            points.append((x, y, row))
    if not points:
        return ""
    across = _Axis([x for x, _, _ in points], _LEFT, _WIDTH - _RIGHT)
    up = _Axis([y for _, y, _ in points], _HEIGHT - _BOTTOM, _TOP)
    parts = _axes(across, up, rightward, upward)
    placed = [(across.place(x), up.place(y), row) for x, y, row in points]
    marked = sorted(
        (x, y, f"{row.partitioner}, {row.quantizer}") for x, y, row in placed if row.key in front
    )
    if len(sweep.objectives) == 2:
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in marked)
        parts.append(f'<path d="M{path}" fill="none" stroke="{_FRONT}" stroke-dasharray="4 3"/>')
    for x, y, row in placed:
        if row.key not in front:
            parts.append(_circle(x, y, "#fff", _OTHER))
    parts += [_circle(x, y, _FRONT, _FRONT) for x, y, _ in marked]
    parts += _labels(marked)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="11">{"".join(parts)}</svg>'
    )


def _axes(across: _Axis, up: _Axis, rightward: "Objective", upward: "Objective") -> list[str]:
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts = [
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"{display.escape(rightward.name)}</text>",
        f'<text x="14" y="{middle:.0f}" transform="rotate(-90 14 {middle:.0f})"'
        f' text-anchor="middle">{display.escape(upward.name)}</text>',
    ]
    for value in up.ticks():
        y = up.place(value)
        parts.append(
            f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{display.escape(upward.format(value))}</text>"
        )
    for value in across.ticks():
        x = across.place(value)
        parts.append(
            f'<path d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="#eee"/>'
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 14}" text-anchor="middle">'
            f"{display.escape(rightward.format(value))}</text>"
        )
    return parts


def _circle(x: float, y: float, fill: str, stroke: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="{stroke}"/>'


def _labels(points: list[tuple[float, float, str]]) -> list[str]:
    """Names beside points, where they cover no other name; where there is no room, the table tells.

    Args:
        points: place and name, from left to right.
    """
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y, _ in points]
    parts = []
    for x, y, name in points:
        text = display.shorten(name)
        for left, middle in _places(x, y, _LETTER * len(text)):
            box = (left, middle - 6, left + _LETTER * len(text), middle + 6)
            inside = box[0] >= _LEFT and box[2] <= _WIDTH and box[1] >= 0
            if not inside or box[3] > _HEIGHT - _BOTTOM or any(_cover(box, one) for one in taken):
                continue
            taken.append(box)
            if abs(middle - y) > 20:
                parts.append(
                    f'<path d="M{x:.1f} {y:.1f}L{max(left, min(x, box[2])):.1f} {middle:.1f}"'
                    f' stroke="{_FRONT}" stroke-width=".5"/>'
                )
            parts.append(f'<text x="{left:.1f}" y="{middle + 4:.1f}">{display.escape(text)}</text>')
            break
    return parts


def _places(x: float, y: float, width: float) -> Iterator[tuple[float, float]]:
    """Left edges and middles that a name may have, the nearest to its point first."""
    for distance in range(0, 80, 13):
        for middle in (y - distance, y + distance):
            yield x + 8, middle
            yield x - 8 - width, middle


def _cover(
    left: tuple[float, float, float, float], right: tuple[float, float, float, float]
) -> bool:
    return left[0] < right[2] and right[0] < left[2] and left[1] < right[3] and right[1] < left[3]
