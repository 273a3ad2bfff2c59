"""Displays a widget as two outputs: a picture that stays in a saved notebook, and the live view.

A live page shows one of them: the view brings the style rule that hides the picture. Where no
kernel is, the picture is what is left.
"""

import zlib
from typing import Any

import traitlets
from IPython.display import display

from etlab.session import options


class TwoOutputs(traitlets.HasTraits):
    """What a widget inherits first; it gives `_snapshot_html`, and its module hides `hides`."""

    hides = traitlets.Unicode("").tag(sync=True)

    def _snapshot_html(self) -> str:
        """What a saved notebook shows where no kernel draws the view."""
        raise NotImplementedError

    def _ipython_display_(self) -> None:
        if self.has_trait("theme") and getattr(self, "theme") == "auto":  # noqa: B009
            self.set_trait("theme", options.theme)  # "auto" unless the session says one
        html = self._snapshot_html()
        # The same content has the same name, so that a notebook that runs again does not change.
        self.hides = f"etlab-snapshot-{zlib.crc32(html.encode()):08x}"
        text: dict[str, Any] = {"text/plain": repr(self)}
        display({"text/html": f'<div class="{self.hides}">{html}</div>', **text}, raw=True)
        bundle = self._repr_mimebundle_()  # type: ignore[attr-defined]
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        display({**(data or {}), **text}, metadata=metadata, raw=True)
