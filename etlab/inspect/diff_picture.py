"""The numbers of two programs as an SVG: two bars for each that differs."""

from collections.abc import Sequence
from itertools import groupby

from etlab import display
from etlab.inspect.diff_figures import Figure

_WIDTH, _LEFT, _RIGHT = 760, 250, 190
_ROW, _HEAD, _BAR = 22, 26, 7
_MOST_ROWS = 14  # of a section
_BEFORE, _AFTER = "#999999", "#0072B2"


def draw_figures(figures: Sequence[Figure], *, names: tuple[str, str]) -> str:
    """The picture; empty when all numbers are the same.

    Args:
        figures: numbers of both programs; of each section those that differ most are drawn.
        names: of the programs.
    """
    parts: list[str] = []
    top = 8
    for section, found in groupby(figures, lambda one: one.section):
        all_of_it = list(found)
        changed = [one for one in all_of_it if one.before != one.after]
        changed.sort(key=lambda one: (-abs(one.after - one.before), one.method, one.what))
        if not changed:
            continue
        most = max(max(one.before, one.after) for one in all_of_it)
        parts.append(f'<text x="8" y="{top + 16}" font-weight="600">{section}</text>')
        top += _HEAD
        for one in changed[:_MOST_ROWS]:
            parts += _row(top, one, most)
            top += _ROW
        if len(changed) > _MOST_ROWS:
            parts.append(
                f'<text x="{_LEFT}" y="{top + 12}">and {len(changed) - _MOST_ROWS} more</text>'
            )
            top += _ROW
    if not parts:
        return ""
    for place, (role, colour) in enumerate((("before", _BEFORE), ("after", _AFTER))):
        left = _LEFT + place * 220
        name = display.escape(f"{role}: {display.shorten(names[place], 26)}")
        parts.append(
            f'<rect x="{left}" y="{top + 6}" width="12" height="{_BAR}" fill="{colour}"/>'
            f'<text x="{left + 18}" y="{top + 14}">{name}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top + 24}" '
        f'font-family="sans-serif" font-size="11">{"".join(parts)}</svg>'
    )


def change_text(figure: Figure) -> str:
    """`1,024 → 2,048 (+100.0%)`.

    >>> change_text(Figure("bytes", "", "delegate", 0, 12))
    '0 → 12'
    """
    text = f"{figure.before:,} → {figure.after:,}"
    if not figure.before or figure.before == figure.after:
        return text
    return f"{text} ({(figure.after - figure.before) / figure.before:+.1%})"


def _row(top: int, figure: Figure, most: int) -> list[str]:
    room = _WIDTH - _LEFT - _RIGHT
    what = f"{figure.method}, {figure.what}" if figure.method else figure.what
    parts = [
        f'<text x="{_LEFT - 8}" y="{top + 12}" text-anchor="end">'
        f"{display.escape(display.shorten(what, 38))}</text>",
        f'<text x="{_WIDTH - _RIGHT + 8}" y="{top + 12}">{change_text(figure)}</text>',
    ]
    for place, (count, colour) in enumerate(((figure.before, _BEFORE), (figure.after, _AFTER))):
        width = room * count / most
        parts.append(
            f'<rect x="{_LEFT}" y="{top + place * (_BAR + 1)}" width="{width:.1f}" '
            f'height="{_BAR}" fill="{colour}"/>'
        )
    return parts
