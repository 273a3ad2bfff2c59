"""The page of a report: one file, no request, no kernel; live views unfold on demand."""

import base64
import gzip
from dataclasses import dataclass

from etlab import display

_STYLE = """
body { margin: 0 auto; max-width: 1100px; padding: 16px 20px;
  font: 14px/1.45 system-ui, sans-serif; background: #fff; color: #1a1a1a }
h1 { font-size: 20px } h2 { font-size: 16px; margin: 28px 0 6px }
nav ol { padding-left: 20px; margin: 4px 0 } a { color: #0b57a0 }
iframe { width: 100%; height: 640px; border: 1px solid rgba(128,128,128,.35); border-radius: 6px }
pre { overflow-x: auto } summary { cursor: pointer; padding: 2px 0 }
button { font: inherit; padding: 3px 10px }
.etlab-card { max-width: none !important }
@media (prefers-color-scheme: dark) {
  body { background: #161616; color: #e8e8e8 } a { color: #8ab8ff }
}
"""
_SCRIPT = """
const unpack = async (element) => {
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
};
for (const fold of document.querySelectorAll("details[data-view]")) {
  fold.addEventListener("toggle", async () => {
    if (!fold.open || fold.querySelector("iframe")) return;
    const frame = document.createElement("iframe");
    frame.title = fold.querySelector("summary").textContent;
    frame.srcdoc = await unpack(document.getElementById(fold.dataset.view));
    fold.append(frame);
  });
}
document.getElementById("save").addEventListener("click", async () => {
  const link = document.createElement("a");
  const text = await unpack(document.getElementById("numbers"));
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "report.json";
  link.click();
});
"""
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; worker-src blob:; "
    "style-src 'unsafe-inline'; img-src data: blob:; frame-src blob: data:"
)


@dataclass(frozen=True, slots=True)
class Section:
    """One result on the page.

    Attributes:
        title: its heading.
        face: HTML that needs no script.
        live: a page of its own with the live view; empty for none.
    """

    title: str
    face: str
    live: str = ""


def write_page(title: str, sections: list[Section], numbers: str) -> str:
    """The HTML of a report.

    Args:
        title: of the page.
        sections: in order.
        numbers: the JSON that the page's button saves.
    """
    contents = "".join(
        f'<li><a href="#part-{place}">{display.escape(section.title)}</a></li>'
        for place, section in enumerate(sections)
    )
    navigation = f'<nav aria-label="Contents"><ol>{contents}</ol></nav>' if sections[1:] else ""
    body = "".join(_section(place, section) for place, section in enumerate(sections))
    packed = "".join(
        _packed(f"view-{place}", section.live)
        for place, section in enumerate(sections)
        if section.live
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{display.escape(title)}</title>"
        '<meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="color-scheme" content="light dark"><style>{_STYLE}</style></head><body>'
        f"<header><h1>{display.escape(title)}</h1>{navigation}"
        '<button id="save" type="button">Save the numbers (JSON)</button></header>'
        f"<main>{body}</main>{packed}{_packed('numbers', numbers)}"
        f"<script>{_SCRIPT}</script></body></html>\n"
    )


def _section(place: int, section: Section) -> str:
    live = (
        f'<details data-view="view-{place}"><summary>live view: {display.escape(section.title)}'
        "</summary></details>"
        if section.live
        else ""
    )
    heading = f'<h2 id="part-{place}">{display.escape(section.title)}</h2>'
    return f"<section>{heading}{section.face}{live}</section>"


def _packed(name: str, text: str) -> str:
    data = base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
    return f'<script type="text/plain" id="{name}">{data}</script>'
