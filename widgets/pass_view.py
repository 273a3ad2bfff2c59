"""`PassView`: a slider over the compiler's passes, with the graph before and after each."""

from typing import Any

import ipywidgets

from etlab import display as markup
from etlab.errors import InvalidArgumentError
from etlab.inspect.graph_passes import PassHistory
from etlab.widgets._two_outputs import TwoOutputs
from etlab.widgets.compare_view import CompareView


class PassView(TwoOutputs, ipywidgets.VBox):
    """The passes that changed a method, one at a time.

    Args:
        history: what to show; `run.passes()` gives one.
        step: the one to show first, from 1.
        options: for the `CompareView` of every step.

    Raises:
        InvalidArgumentError: this is no history, or it has no such step.

    `view.step` is the number of the step that is shown, `view.comparison` its `CompareView`.
    """

    def __init__(self, history: PassHistory, *, step: int = 1, **options: Any) -> None:
        if not isinstance(history, PassHistory):
            raise InvalidArgumentError(
                f"PassView: expected a PassHistory, got {type(history).__name__}; run.passes()"
                " gives one"
            )
        self.data = history
        self._options = options
        self._views: dict[int, CompareView] = {}
        self._style = ipywidgets.HTML()
        super().__init__([self._style])
        if not history.steps:
            self.children = [ipywidgets.HTML(markup.escape(repr(history))), self._style]
            return
        choices = [(f"{one.step}: {one.name}", one.step) for one in history.steps]
        history.comparison(step)  # refuses a wrong number in words
        self.slider = ipywidgets.SelectionSlider(
            options=choices,
            value=step,
            description="pass",
            continuous_update=False,
            layout={"width": "100%"},
        )
        self.said = ipywidgets.HTML()
        self.slider.observe(lambda _: self._show(), "value")
        self.observe(lambda _: self._hide(), "hides")
        self._show()

    @property
    def step(self) -> int:
        """Number of the step that is shown."""
        return int(self.slider.value)

    @step.setter
    def step(self, number: int) -> None:
        self.data.comparison(number)
        self.slider.value = number

    @property
    def comparison(self) -> CompareView:
        """The graphs before and after the step that is shown."""
        if self.step not in self._views:
            compared = self.data.comparison(self.step)
            self._views[self.step] = compared.widget(**{"color_by": "operator", **self._options})
        return self._views[self.step]

    def _show(self) -> None:
        row = self.data.steps[self.step - 1]
        self.said.value = markup.escape(
            f"removed: {row.removed or 'nothing'}; added: {row.added or 'nothing'};"
            f" {row.calls} calls afterwards"
        )
        self.children = [self.slider, self.said, self.comparison, self._style]

    def _hide(self) -> None:
        self._style.value = f"<style>.{self.hides} {{display: none}}</style>"

    def _snapshot_html(self) -> str:
        return self.data._repr_html_()

    def __repr__(self) -> str:
        """One line, the same for the same history."""
        return f"PassView({self.data.title}: {len(self.data.steps)} passes)"
