"""`CodeView`: Python behind a button that shows and copies it."""

import anywidget
import traitlets

from etlab.widgets._data_view import view_files


class CodeView(anywidget.AnyWidget):
    """A button, and the code that it shows and copies.

    Args:
        code: the Python.
        label: of the button.
    """

    _esm, _css = view_files("code_view", styles=())

    code = traitlets.Unicode("").tag(sync=True)
    label = traitlets.Unicode("copy as code").tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    def __init__(self, code: str = "", *, label: str = "copy as code") -> None:
        super().__init__(code=code, label=label)

    def __repr__(self) -> str:
        """The code."""
        return self.code
