"""The picture of a bench that a saved notebook keeps; it follows the rounds."""

import uuid

from IPython.display import HTML, DisplayHandle, display

from etlab import display as markup
from etlab.widgets.workbench.rounds import Round

_EMPTY = markup.card("Workbench", "Run this cell in a live notebook to pick, lower and compare.")


class Snapshot:
    """Outputs beside the live bench, hidden where it lives."""

    def __init__(self) -> None:
        self._name = f"etlab-snapshot-{uuid.uuid4().hex[:8]}"
        self._handles: list[DisplayHandle] = []
        self.html = self._wrapped(_EMPTY)

    @property
    def style(self) -> str:
        """The rule that the live bench brings."""
        return f"<style>.{self._name} {{display: none}}</style>"

    def follow(self, one: Round, history: str) -> None:
        """Show the results of a round, wherever the snapshot is."""
        code = f"<pre>{markup.escape(one.code)}</pre>"
        parts = [
            one.report._repr_html_(),
            one.run.delegation()._repr_html_(),
            one.run.memory_plan()._repr_html_(),
            history,
            markup.details("the same in Python", code),
        ]
        self.html = self._wrapped("".join(parts))
        for handle in self._handles:
            handle.update(HTML(self.html))

    def display(self, text: str) -> None:
        """One more output with the picture; `text` is what front ends without HTML show."""
        data = {"text/html": self.html, "text/plain": text}
        handle = display(data, raw=True, display_id=True)
        if handle is not None:
            self._handles.append(handle)

    def _wrapped(self, body: str) -> str:
        return f'<div class="{self._name}">{body}</div>'
