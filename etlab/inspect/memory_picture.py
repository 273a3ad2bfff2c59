"""Drawing lifetimes against offsets, and live bytes below, as an SVG of bounded size."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from etlab import display

Scale = Callable[[float], float]
_WIDTH, _HEIGHT = 860, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 10, 10, 142
_CURVE_TOP, _CURVE_BOTTOM = 276, 340  # of the curve below
_MOST_POINTS = 1000  # of the curve; more cannot be told apart


@dataclass(frozen=True, slots=True)
class Box:
    """One tensor: steps [left, right), bytes [bottom, top), and what to colour it by."""

    left: int
    right: int
    bottom: int
    top: int
    kind: str


def colours_of(boxes: Iterable[Box]) -> dict[str, tuple[str, str]]:
    """Colour and legend label of every kind: the seven with most bytes, the rest as "other"."""
    weight: dict[str, int] = {}
    for box in boxes:
        weight[box.kind] = weight.get(box.kind, 0) + box.top - box.bottom
    ranked = sorted(weight, key=lambda kind: (-weight[kind], kind))
    *own, other = display.CATEGORY_COLOURS
    return {
        kind: (own[place], kind) if place < len(own) else (other, "other")
        for place, kind in enumerate(ranked)
    }


def draw_svg(
    boxes: Sequence[Box],
    *,
    steps: int,
    peak: int,
    lower_bound: int,
    live: Sequence[int] = (),
    peak_name: str = "",
) -> str:
    """The picture. Boxes of one colour are one path, so 5000 tensors stay below 150 kB.

    Args:
        boxes: one a tensor.
        steps: how many there are.
        peak: bytes of the arenas.
        lower_bound: bytes that no plan goes below.
        live: bytes alive at each step, the curve below.
        peak_name: what the curve's highest step is.
    """
    plot_width, plot_height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    highest = max(peak, lower_bound, 1) * 1.06

    def x(step: float) -> float:
        return _LEFT + plot_width * step / steps

    def y(offset: float) -> float:
        return _TOP + plot_height * (1 - offset / highest)

    colours = colours_of(boxes)
    paths: dict[tuple[str, str], list[str]] = {}
    for box in boxes:
        left, right, upper, lower = x(box.left), x(box.right), y(box.top), y(box.bottom)
        width, height = max(right - left, 0.6), max(lower - upper, 0.4)
        paths.setdefault(colours[box.kind], []).append(
            f"M{left:.1f} {upper:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z"
        )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="11">'
    ]
    for (colour, _), outline in paths.items():
        parts.append(
            f'<path fill="{colour}" stroke="#fff" stroke-width=".3" d="{"".join(outline)}"/>'
        )
    parts += _axes(x, y, steps, highest)
    parts += _level(y(peak), f"peak {display.format_bytes(peak)}", "", -4)
    if lower_bound < peak:
        label = f"lower bound {display.format_bytes(lower_bound)}"
        parts += _level(y(lower_bound), label, ' stroke-dasharray="5 3"', 12)
    if any(live):
        parts += _curve(x, live, peak_name)
    parts += _legend(list(paths))
    return "".join([*parts, "</svg>"])


def _axes(x: Scale, y: Scale, steps: int, highest: float) -> list[str]:
    floor = y(0)
    parts = [
        f'<path stroke="#444" fill="none" d="M{x(0):.1f} {_TOP}V{floor:.1f}H{x(steps):.1f}"/>',
        f'<text x="{x(steps / 2):.0f}" y="{floor + 28:.0f}" text-anchor="middle">step</text>',
    ]
    for i in range(5):
        step, offset = round(steps * i / 4), highest * i / 4
        parts.append(
            f'<text x="{x(step):.0f}" y="{floor + 14:.0f}" text-anchor="middle">{step}</text>'
        )
        parts.append(
            f'<text x="{_LEFT - 5}" y="{y(offset) + 4:.0f}" text-anchor="end">'
            f"{display.format_bytes(round(offset))}</text>"
        )
    return parts


def _curve(x: Scale, live: Sequence[int], peak_name: str) -> list[str]:
    """Live bytes as a filled line; of many steps, the highest of each few."""
    width = -(-len(live) // _MOST_POINTS)
    levels = [max(live[start : start + width]) for start in range(0, len(live), width)]
    highest = max(live)

    def y(level: int) -> float:
        return _CURVE_BOTTOM - (_CURVE_BOTTOM - _CURVE_TOP) * level / highest

    outline = [f"M{x(0):.1f} {_CURVE_BOTTOM}"]
    for place, level in enumerate(levels):
        end = min((place + 1) * width, len(live))
        outline.append(f"V{y(level):.1f}H{x(end):.1f}")
    outline.append(f"V{_CURVE_BOTTOM}Z")
    step = live.index(highest)
    middle = x(step + 0.5)
    is_right = middle > (_LEFT + _WIDTH) / 2
    anchor, shift = ("end", -6) if is_right else ("start", 6)
    label = f"{display.format_bytes(highest)} alive at {peak_name}"
    return [
        f'<path fill="#888" fill-opacity=".35" stroke="#444" stroke-width=".6" '
        f'd="{"".join(outline)}"/>',
        f'<circle cx="{middle:.1f}" cy="{_CURVE_TOP}" r="2.5" fill="#c00"/>',
        f'<text x="{middle + shift:.1f}" y="{_CURVE_TOP + 4}" text-anchor="{anchor}" '
        f'stroke="#fff" stroke-width="2" paint-order="stroke">{display.escape(label)}</text>',
        f'<text x="{_LEFT - 5}" y="{_CURVE_TOP + 4}" text-anchor="end">live</text>',
    ]


def _level(height: float, label: str, dash: str, shift: int) -> list[str]:
    right = _WIDTH - _RIGHT
    return [
        f'<path stroke="#000"{dash} d="M{_LEFT} {height:.1f}H{right}"/>',
        f'<text x="{right - 4}" y="{max(height + shift, 9):.1f}" text-anchor="end" '
        f'stroke="#fff" stroke-width="2" paint-order="stroke">{display.escape(label)}</text>',
    ]


def _legend(entries: Sequence[tuple[str, str]]) -> list[str]:
    parts, left = [], float(_LEFT)
    for colour, label in entries:
        text = label if len(label) <= 22 else label[:21] + "…"
        parts.append(
            f'<rect x="{left:.0f}" y="{_HEIGHT - 18}" width="10" height="10" fill="{colour}"/>'
        )
        parts.append(f'<text x="{left + 14:.0f}" y="{_HEIGHT - 9}">{display.escape(text)}</text>')
        left += 28 + 6.2 * len(text)
    return parts
