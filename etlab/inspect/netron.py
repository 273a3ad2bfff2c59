"""Netron's view of a program inside a notebook: no server, no network, nothing asked.

Netron's own page fetches its modules, asks ipinfo.io where the user is, and wants consent before it
shows a model. Here its modules travel inside a sandboxed frame whose security policy forbids
every connection, and only its drawing part is started.
"""

import base64
import functools
import gzip
import importlib.util
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from etlab import display
from etlab.errors import NotSupportedError

_ENTRY_POINTS = ("view.js", "browser.js", "executorch.js")
_ASSETS = ("pytorch-metadata.json",)
# Readers of formats that a .pte never holds, reached only by opening other kinds of file.
_UNUSED = {"hdf5.js", "sentencepiece.js", "safetensors.js", "coreml.js", "qnn.js"}
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; "
    "style-src 'unsafe-inline'; img-src data: blob:"
)


@dataclass(frozen=True, slots=True)
class NetronView:
    """A program as Netron draws it; displaying it in a notebook embeds the whole view.

    Attributes:
        name: file name that Netron shows.
        data: the program's bytes.
        height: of the frame, in pixels.
        has_weights: whether the weights are in `data` or were replaced by zeros.
    """

    name: str
    data: bytes = field(repr=False)
    height: int = 480
    has_weights: bool = False

    @classmethod
    def of(cls, data: bytes, *, name: str, weights: bool, height: int) -> Self:
        """The view of a file; without `weights` their bytes are zeros, which pack to nothing.

        Raises:
            NotSupportedError: netron is not installed, or a version without the needed files.
        """
        from etlab.inspect.constant_pieces import without_constants

        _bundle()  # say now what is missing, not when a cell is displayed
        return cls(name, data if weights else without_constants(data), height, weights)

    def to_html(self) -> str:
        """The page, complete in itself."""
        page = (_folder() / "index.html").read_text(encoding="utf-8")
        style = "\n".join(re.findall(r"<style>(.*?)</style>", page, re.DOTALL))
        body = re.search(r"<body[^>]*>(.*)</body>", page, re.DOTALL)
        if body is None:
            raise NotSupportedError("netron: its index.html has no body; try netron 9.3")
        host = (Path(__file__).parent / "netron_host.js").read_text(encoding="utf-8")
        sheet = (_folder() / "grapher.css").read_text(encoding="utf-8")
        name = json.dumps(self.name).replace("<", "\\u003c")
        return (
            '<!DOCTYPE html><html><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            f"<style>{style}\n{sheet}</style></head>"
            f'<body class="welcome spinner">{body[1]}'
            f'<script type="text/plain" id="netron-files">{_bundle()}</script>'
            f'<script type="text/plain" id="netron-model">{_packed(self.data)}</script>'
            f'<script type="application/json" id="netron-model-name">{name}</script>'
            f'<script type="module">{host}</script></body></html>'
        )

    def __repr__(self) -> str:
        """One line."""
        weights = "with weights" if self.has_weights else "weights left out"
        return f"NetronView({self.name}, {weights})"

    def _repr_html_(self) -> str:
        note = "" if self.has_weights else " The weights are left out: values read as zeros."
        return (
            f'<iframe class="etlab-netron" title="Netron view of {display.escape(self.name)}" '
            f'sandbox="allow-scripts" style="width:100%;height:{self.height}px;border:0" '
            f'srcdoc="{display.escape(self.to_html())}"></iframe>'
            f'<div style="opacity:.75">{display.escape(self.name)} in Netron.{note}</div>'
        )


@functools.cache
def _folder() -> Path:
    """Where Netron's files lie; the package is not imported."""
    spec = importlib.util.find_spec("netron")
    if spec is None or not spec.submodule_search_locations:
        raise NotSupportedError("netron is not installed: pip install 'etlab[netron]'")
    return Path(spec.submodule_search_locations[0])


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


@functools.cache
def _bundle() -> str:
    """Netron's modules that a .pte needs, as base64 of gzip of a JSON object by file name."""
    folder = _folder()
    files: dict[str, str] = {}
    pending = list(_ENTRY_POINTS)
    while pending:
        name = pending.pop()
        if name in files or name in _UNUSED:
            continue
        path = folder / name
        if not path.is_file():
            if name in _ENTRY_POINTS:
                raise NotSupportedError(f"netron: this version has no {name}; try netron 9.3")
            continue
        files[name] = path.read_text(encoding="utf-8")
        pending += re.findall(r"(?:from\s+|\bimport\()['\"]\./([\w-]+\.js)['\"]", files[name])
    for name in ("executorch-schema.js", "pytorch-schema.js", *_ASSETS):
        if (folder / name).is_file():
            files[name] = (folder / name).read_text(encoding="utf-8")
    return _packed(json.dumps(dict(sorted(files.items()))).encode())
