"""A widget as a page of its own: its module, its state and nothing from outside."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from etlab import display

_HOST = """
const packed = JSON.parse(document.getElementById("state").textContent);
const unpack = (value) => {
  if (value && value.bytes !== undefined) {
    const text = atob(value.bytes);
    return new DataView(Uint8Array.from(text, (letter) => letter.charCodeAt(0)).buffer);
  }
  if (Array.isArray(value)) return value.map(unpack);
  if (!value || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, unpack(inner)]));
};
const state = unpack(packed.state);
const source = document.getElementById("module").textContent;
state._esm = source;
const listeners = new Map();
const call = (event, ...values) => (listeners.get(event) ?? []).forEach((one) => one(...values));
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; call(`change:${name}`); },
  save_changes: () => {},
  on: (event, one) => listeners.set(event, [...(listeners.get(event) ?? []), one]),
  off: (event, one) => listeners.set(event, (listeners.get(event) ?? []).filter((o) => o !== one)),
  send: (message) => {
    const about = message.node ?? String(message.source).replace(/:\\d+$/, "");
    const silent = { problem: "This page has no kernel: open the view in a notebook." };
    const answer = packed.answers[`${message.type} ${about}`] ?? (message.id ? silent : null);
    if (answer) setTimeout(() => call("msg:custom", { ...answer, id: message.id }));
  },
};
const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
const { default: widget } = await import(address);
widget.render({ model, el: document.getElementById("view") });
window.model = model;
"""


def page(
    title: str,
    module: str,
    style: str,
    state: Mapping[str, Any],
    answers: Mapping[str, Any],
) -> str:
    """The HTML of a page.

    Args:
        title: of the page.
        module: the widget's JavaScript.
        style: its CSS.
        state: the traits; bytes travel as base64.
        answers: what a kernel would say, by `"<type> <node or file>"` of the question.
    """
    packed = json.dumps({"state": _packed(state), "answers": answers}).replace("<", "\\u003c")
    script = module.replace("</script", "<\\/script")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{display.escape(title)}</title>"
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "script-src 'unsafe-inline' blob:; worker-src blob:; style-src 'unsafe-inline'; "
        'img-src data: blob:">'
        '<meta name="color-scheme" content="light dark">'
        f"<style>body {{ margin: 12px }}\n{style}</style></head><body>"
        f'<main><h1 style="font:600 15px system-ui,sans-serif">{display.escape(title)}</h1>'
        f'<div id="view"></div></main><script type="text/plain" id="module">{script}</script>'
        f'<script type="application/json" id="state">{packed}</script>'
        f'<script type="module">{_HOST}</script></body></html>'
    )


def _packed(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {key: _packed(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(inner) for inner in value]
    return value
