"""A program's parts as a treemap: areas are bytes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from etlab import display

if TYPE_CHECKING:
    from etlab.inspect.size import SizeEntry, SizeReport

Rectangle = tuple[float, float, float, float]  # x, y, width, height

_WIDTH, _HEIGHT, _HEADER = 860, 300, 16
_MOST_PARTS = 150  # of one kind; the rest is one rectangle
KINDS = ("constant", "delegate", "program", "named data", "state", "external", "padding")


def squarify(weights: Sequence[float], area: Rectangle) -> list[Rectangle]:
    """Rectangles whose areas are as the weights, none of them needlessly thin.

    Rows are filled along the shorter side as long as the worst of their rectangles grows squarer
    (Bruls, Huizing and van Wijk, Squarified Treemaps, 2000).

    Args:
        weights: of any order; the largest first gives the best picture.
        area: to fill.

    >>> squarify([2, 1, 1], (0, 0, 4, 2))
    [(0, 0.0, 2.0, 2.0), (2.0, 0.0, 2.0, 1.0), (2.0, 1.0, 2.0, 1.0)]
    """
    x, y, width, height = area
    total = sum(weights)
    found: list[Rectangle] = []
    begin = 0
    while begin < len(weights):
        if total <= 0 or width <= 0 or height <= 0:
            return found + [(x, y, 0.0, 0.0)] * (len(weights) - begin)
        short, scale = min(width, height), width * height / total
        end = begin + 1
        while end < len(weights) and _worst(weights[begin : end + 1], short, scale) <= _worst(
            weights[begin:end], short, scale
        ):
            end += 1
        row = weights[begin:end]
        thick = sum(row) * scale / short
        along = 0.0
        for weight in row:
            length = weight * scale / thick if thick else 0.0
            if width >= height:
                found.append((x, y + along, thick, length))
            else:
                found.append((x + along, y, length, thick))
            along += length
        if width >= height:
            x, width = x + thick, width - thick
        else:
            y, height = y + thick, height - thick
        total -= sum(row)
        begin = end
    return found


def _worst(row: Sequence[float], short: float, scale: float) -> float:
    """The largest ratio of sides in a row."""
    total = sum(row) * scale
    if not total or not min(row):
        return float("inf")
    return max(short**2 * max(row) * scale / total**2, total**2 / (short**2 * min(row) * scale))


def kind_colours() -> dict[str, str]:
    """The colour of every kind of part: the same in every picture and in `SizeView`."""
    return dict(zip(KINDS, display.CATEGORY_COLOURS, strict=False))


def draw_svg(report: "SizeReport") -> str:
    """The picture: kinds, and the parts of each."""
    by_kind = {kind: count for kind, count in report.by_kind.items() if count}
    areas = squarify(list(by_kind.values()), (0, 0, _WIDTH, _HEIGHT))
    colours = kind_colours()
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="11">'
    ]
    for (kind, count), (x, y, width, height) in zip(by_kind.items(), areas, strict=True):
        parts.append(_box((x, y, width, height), "#fff", "#444"))
        parts += _label((x, y, width, _HEADER), f"{kind} {display.format_bytes(count)}", bold=True)
        own = [entry for entry in report.entries if entry.kind == kind and entry.nbytes]
        inner = (x + 2, y + _HEADER, max(width - 4, 0), max(height - _HEADER - 2, 0))
        parts += _inside(own, inner, colours.get(kind, "#999999"))
    return "".join([*parts, "</svg>"])


def _inside(entries: "Sequence[SizeEntry]", area: Rectangle, colour: str) -> list[str]:
    if area[2] <= 2 or area[3] <= 2:
        return []
    shown, rest = entries[:_MOST_PARTS], entries[_MOST_PARTS:]
    named = [(entry.name or entry.kind, entry.nbytes) for entry in shown]
    if rest:
        named.append((f"{len(rest)} more", sum(entry.nbytes for entry in rest)))
    parts = []
    places = squarify([count for _, count in named], area)
    for (name, count), place in zip(named, places, strict=True):
        title = f"{name}: {count:,} bytes"
        parts.append(_box(place, colour, "#fff", title))
        parts += _label(place, name, bold=False)
    return parts


def _box(place: Rectangle, fill: str, stroke: str, title: str = "") -> str:
    x, y, width, height = place
    shape = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    inner = f"<title>{display.escape(title)}</title>" if title else ""
    return f'<rect {shape} fill="{fill}" stroke="{stroke}" stroke-width=".7">{inner}</rect>'


def _label(place: Rectangle, text: str, *, bold: bool) -> list[str]:
    x, y, width, height = place
    letters = int((width - 6) / 6.2)
    if letters < 4 or height < 13:
        return []
    weight = ' font-weight="600"' if bold else ""
    outline = "" if bold else ' stroke="#fff" stroke-width="2.5" paint-order="stroke"'
    shown = display.escape(display.shorten(text, letters))
    return [f'<text x="{x + 4:.1f}" y="{y + 12:.1f}"{weight}{outline}>{shown}</text>']
