"""HTML that every value object shares: small, static, readable in light and dark pages.

Only inline styles and a class prefix: what a notebook's sanitizer takes away from an untrusted page
(`<style>`, inline `<svg>`) is not used, so a saved notebook reads the same everywhere. Colours come
from the page where it has them and stay legible where it does not.
"""

import base64
import html
import importlib
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

# Okabe and Ito's colours, told apart by every kind of colour vision.
CATEGORY_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#999999",
)

# What the runtime's own kernels run; no backend has this colour.
OWN_COLOUR = CATEGORY_COLOURS[-1]

_BORDER = "1px solid rgba(128,128,128,.35)"
_CELL = f"padding:2px 10px;border-bottom:{_BORDER}"


def backend_colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for every backend: the same in every picture, unless two of one picture collide.

    >>> backend_colours(["XnnpackBackend"])
    {'XnnpackBackend': '#CC79A7'}
    """
    colours = CATEGORY_COLOURS[:-1]
    taken: dict[str, str] = {}
    for name in sorted(set(names)):
        start = zlib.crc32(name.encode())
        order = [colours[(start + step) % len(colours)] for step in range(len(colours))]
        taken[name] = next((one for one in order if one not in taken.values()), order[0])
    return taken


def escape(value: object) -> str:
    """`value` as text that is safe inside HTML and attributes."""
    return html.escape(str(value), quote=True)


def format_bytes(count: int) -> str:
    """A number of bytes for people.

    >>> format_bytes(17_825_792)
    '17.0 MiB'
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.2f} GiB"


def milliseconds(seconds: float) -> str:
    """A time for people, with the digits that measurements have.

    >>> milliseconds(0.0123456)
    '12.346 ms'
    """
    return f"{seconds * 1e3:.3f} ms"


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    caption: str = "",
    numeric: Iterable[str] = (),
) -> str:
    """An HTML table; the columns named in `numeric` stand to the right."""
    right = set(numeric)
    aligns = ["right" if column in right else "left" for column in columns]
    head = "".join(
        f'<th scope="col" style="{_CELL};text-align:{align}">{escape(column)}</th>'
        for column, align in zip(columns, aligns, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL};text-align:{align}">{escape(cell)}</td>'
            for cell, align in zip(row, aligns, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    title = (
        f'<caption style="text-align:left;padding:4px 0">{escape(caption)}</caption>'
        if caption
        else ""
    )
    return (
        '<table class="etlab-table" style="border-collapse:collapse;margin:4px 0">'
        f"{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def card(title: str, *parts: str, subtitle: str = "") -> str:
    """A titled block around HTML parts (which are inserted as they are)."""
    under = (
        f'<div style="opacity:.75;margin-bottom:4px">{escape(subtitle)}</div>' if subtitle else ""
    )
    return (
        f'<div class="etlab-card" style="border:{_BORDER};border-radius:6px;padding:8px 14px;'
        'margin:4px 0;max-width:900px;overflow-x:auto">'
        f'<div style="font-weight:600">{escape(title)}</div>{under}{"".join(parts)}</div>'
    )


def note(text: str) -> str:
    """A line that the reader should not miss, marked by a word as well as by its border."""
    return (
        '<div class="etlab-note" style="border-left:4px solid #E69F00;padding:2px 8px;'
        'margin:4px 0">'
        f"<b>Note</b> {escape(text)}</div>"
    )


def details(summary: str, content: str) -> str:
    """`content` (HTML) behind a summary line that opens it."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def svg_image(svg: str, *, alternative: str, width: int | None = None) -> str:
    """An SVG as an `<img>` with a data URI, which survives saving and untrusted notebooks."""
    data = base64.b64encode(svg.encode()).decode()
    size = f"width:{width}px;" if width else ""
    return (
        f'<img alt="{escape(alternative)}" style="{size}max-width:100%;background:#fff;'
        f'border-radius:4px" src="data:image/svg+xml;base64,{data}">'
    )


def shorten(text: str, most: int = 40) -> str:
    """Long names, such as digests, by their beginning.

    >>> shorten("'0123456789abcdef'", 12), shorten("weight", 12)
    ("'0123456789…", 'weight')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def text_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A plain text table, columns padded to their widest cell.

    >>> print(text_table(["path", "dB"], [["native", "12.5"]]))
    path    dB
    native  12.5
    """
    cells = [[str(cell) for cell in row] for row in [columns, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def view_of(report: Any, name: str, **options: Any) -> Any:
    """The view called `name` of a report, found among `etlab.widgets`."""
    return importlib.import_module("etlab.widgets").find_view(name)(report, **options)


def show_view(report: Any) -> None:
    """Display a report: in a notebook its `widget()` and the picture that stays, else one line."""
    from IPython.core.getipython import get_ipython

    if hasattr(get_ipython(), "kernel"):
        report.widget()._ipython_display_()
    else:
        print(repr(report))
