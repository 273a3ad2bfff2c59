"""What the views of reports share: the data, the selection, the code that does the same."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from etlab.errors import EtlabError, InvalidArgumentError
from etlab.widgets._modules import joined_modules
from etlab.widgets._page import page
from etlab.widgets._two_outputs import TwoOutputs

_FOLDER = Path(__file__).parent


def view_files(name: str, *, styles: Iterable[str] | None = None) -> tuple[str, str]:
    """The JavaScript and the CSS of a view.

    Args:
        name: of its `.js` file, which exports `{ render }`; `showView` of `view/host.js` makes one.
        styles: names of the `.css` files that follow the shared one; that of the view by default.
    """
    paths = [
        _FOLDER / f"{one}.css" for one in ("view/view", *((name,) if styles is None else styles))
    ]
    style = "".join(path.read_text(encoding="utf-8") for path in paths)
    return joined_modules(_FOLDER / f"{name}.js"), style


class DataView(TwoOutputs, anywidget.AnyWidget):
    """A report in a cell.

    A subclass gives `_esm, _css = view_files("<name>")`, `report_type` with the call that makes one
    in `report_call`, and `_content()`; it may give `_code()`, `_title()`, `_reply()`. Its state in
    the page is one mapping, `content`, which the module draws and draws anew when it changes.

    Args:
        report: what to show.
        height: of the view's body in pixels.
        theme: "auto" follows the page; "light", "dark".

    Raises:
        InvalidArgumentError: the report is of another kind.

    `view.report` is what is shown; setting it shows another one. `view.selection` holds the names
    of what is selected; setting it selects. `view.code` is the Python that makes the same picture.
    """

    report_type: ClassVar[type]
    report_call: ClassVar[str]

    content = traitlets.Dict().tag(sync=True)
    selection = traitlets.List(traitlets.Unicode()).tag(sync=True)
    code = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(480, min=120, max=4000).tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    def __init__(self, report: Any, *, height: int = 480, theme: str = "auto", **traits: Any):
        """Show a report; other traits of the subclass go through."""
        super().__init__(height=height, theme=theme, **traits)
        self.report = report
        self.on_msg(self._answer)

    @property
    def report(self) -> Any:
        """What is shown."""
        return self._report

    @report.setter
    def report(self, report: Any) -> None:
        if not isinstance(report, self.report_type):
            raise InvalidArgumentError(
                f"{type(self).__name__}: expected a {self.report_type.__name__}, got"
                f" {type(report).__name__}; {self.report_call} gives one"
            )
        self._report = report
        self._refresh()

    @property
    def data(self) -> Any:
        """What is shown, as every view calls it."""
        return self._report

    def _refresh(self) -> None:
        """Send what the page draws; what is no longer there is no longer selected."""
        content = self._content()
        with self.hold_sync():
            self.content, self.code = content, self._code()
            names = self._names()
            if names is not None:
                self.selection = [name for name in self.selection if name in names]

    def _content(self) -> dict[str, Any]:
        """What the page draws: JSON, and bytes for long columns of numbers."""
        raise NotImplementedError

    def _code(self) -> str:
        """The Python that makes the report."""
        return self.report_call

    def _title(self) -> str:
        """Of the page that `to_html` gives."""
        return repr(self)

    def _names(self) -> "frozenset[str] | None":
        """All that can be selected; None: anything."""
        return None

    def _reply(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """What the kernel says to a question of the page; a raised error is said in its words."""
        raise InvalidArgumentError(f"{type(self).__name__} has no answer to {question['type']!r}")

    def _answer(self, _: Any, message: Any, __: Any) -> None:
        if not isinstance(message, dict) or "id" not in message or "type" not in message:
            return
        try:
            answer = self._reply(message)
        except EtlabError as error:
            answer = {"problem": str(error)}
        self.send({**answer, "id": message["id"]})

    def to_html(self) -> str:
        """The view as a page of its own, live but without a kernel, asking no network."""
        names = sorted(set(self.trait_names(sync=True)) - set(_WIDGET_TRAITS))
        state = {name: getattr(self, name) for name in names}
        return page(self._title(), self._esm, self._css, state, self._answers())

    def _answers(self) -> dict[str, Any]:
        """What a page without a kernel can answer: `"<type> <node>"` of the question to a reply."""
        return {}

    def to_svg(self) -> str:
        """The picture of the report."""
        return str(self.report.to_svg())

    def _snapshot_html(self) -> str:
        return str(self.report._repr_html_())

    def __repr__(self) -> str:
        """One line, the same for the same report."""
        return f"{type(self).__name__}({self.report!r})"


_WIDGET_TRAITS = (*anywidget.AnyWidget.class_trait_names(sync=True), "hides")
