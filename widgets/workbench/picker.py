"""A picker of partitioners or quantizers, with a field for every parameter of the one chosen."""

import ast
import inspect
from collections.abc import Callable
from typing import Any

import ipywidgets

from etlab import display
from etlab.choices import Choices, parse_choice
from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.named import parameters_of

_SPECIAL = set(",:=()[]{}'\"")


class ChoicePicker(ipywidgets.VBox):
    """One choice by name, and its parameters.

    Args:
        label: what it is a choice of.
        choices: what there is.
        value: what is chosen first, a name or `name:keyword=value,…`.
        tooltip: what the choice means.

    Raises:
        NotFoundError: there is no such choice.

    Attributes:
        fields: the widgets of the parameters, by keyword.
    """

    def __init__(self, label: str, choices: Choices, *, value: str, tooltip: str) -> None:
        self.label, self.choices = label, choices
        self._kinds = {choice.name: choice.kind for choice in choices}
        self.fields: dict[str, ipywidgets.Widget] = {}
        self._listeners: list[Callable[[], None]] = []
        self._is_quiet = False
        self.dropdown = ipywidgets.Dropdown(
            options=[
                (f"{choice.name} (not installed)" if choice.missing else choice.name, choice.name)
                for choice in choices
            ],
            value="none",
            description=label,
            tooltip=f"{label}: {tooltip}",
            layout={"width": "260px"},
        )
        self.summary = ipywidgets.HTML()
        self._box = ipywidgets.VBox()
        self.unfold = ipywidgets.ToggleButton(
            tooltip="show the parameters, or hide them", layout={"width": "160px"}
        )
        super().__init__(
            [self.dropdown, self.summary, self.unfold, self._box], layout={"width": "300px"}
        )
        self.unfold.observe(lambda _: self._fold(), "value")
        self.dropdown.observe(lambda _: self._rebuild(), "value")
        self._rebuild()
        self.value = value

    @property
    def value(self) -> str:
        """The choice as text; parameters that are as the class has them are left out."""
        changed = self.parameters
        if not changed:
            return str(self.dropdown.value)
        return f"{self.dropdown.value}:" + ",".join(f"{k}={v}" for k, v in changed.items())

    @value.setter
    def value(self, text: str) -> None:
        name, parameters = parse_choice(text)
        self.choose(name, **parameters)

    def choose(self, name: str, **parameters: Any) -> None:
        """Choose by name, with parameters.

        Raises:
            NotFoundError: there is no such choice, or it has no such parameter.
        """
        if name not in self.choices.names:
            raise NotFoundError(
                f"Workbench: no {self.label.lower()} is called {name!r}: choose from"
                f" {', '.join(self.choices.names)}"
            )
        self._is_quiet = True
        try:
            self.dropdown.value = name
            for keyword, given in parameters.items():
                if keyword not in self.fields:
                    known = ", ".join(self.fields) or "none"
                    raise NotFoundError(
                        f"Workbench: {name} has no parameter {keyword!r}; it takes {known}"
                    )
                field = self.fields[keyword]
                field.value = given if _is_typed(field) else _as_text(given)
        finally:
            self._is_quiet = False
        self._tell()

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that differ from the defaults.

        Raises:
            InvalidArgumentError: a field holds no value of its kind.
        """
        kind = self._kinds.get(str(self.dropdown.value))
        if kind is None:
            return {}
        defaults = parameters_of(kind)
        found = {}
        for keyword, field in self.fields.items():
            value = field.value if _is_typed(field) else _parsed(keyword, str(field.value))
            if value != defaults[keyword] and value is not inspect.Parameter.empty:
                found[keyword] = value
        return found

    @property
    def chosen(self) -> Any:
        """What `etlab.export` takes: the text, or an object where text cannot say it."""
        parameters = self.parameters
        if all(_fits_text(value) for value in parameters.values()):
            return self.value
        return self._kinds[str(self.dropdown.value)](**parameters)

    @property
    def code(self) -> str:
        """The same in Python; empty for none."""
        if self.dropdown.value == "none":
            return ""
        parameters = self.parameters
        if all(_fits_text(value) for value in parameters.values()):
            return repr(self.value)
        kind = self._kinds[str(self.dropdown.value)]
        given = ", ".join(f"{keyword}={value!r}" for keyword, value in parameters.items())
        return f"{kind.__name__}({given})"

    @property
    def imports(self) -> str:
        """The import that `code` needs; empty for none."""
        if not self.code or self.code[0] in "'\"":
            return ""
        kind = self._kinds[str(self.dropdown.value)]
        return f"from {kind.__module__} import {kind.__name__}"

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call back when the choice or a parameter changes."""
        self._listeners.append(callback)

    def _rebuild(self) -> None:
        """The fields of another choice."""
        name = str(self.dropdown.value)
        kind = self._kinds.get(name)
        defaults = {} if kind is None else parameters_of(kind)
        self.fields = {keyword: _field(keyword, default) for keyword, default in defaults.items()}
        for field in self.fields.values():
            field.observe(lambda _: self._tell(), "value")
        self._box.children = tuple(self.fields.values())
        self.unfold.description = f"parameters ({len(self.fields)})"
        self.unfold.layout.display = "" if self.fields else "none"
        self._fold()
        chosen = next(choice for choice in self.choices if choice.name == name)
        said = chosen.summary + (f" Not installed: {chosen.missing}" if chosen.missing else "")
        style = "opacity:.8;line-height:1.3;white-space:normal"
        self.summary.value = f'<div style="{style}">{display.escape(said)}</div>'
        self._tell()

    def _fold(self) -> None:
        self._box.layout.display = "" if self.unfold.value else "none"

    def _tell(self) -> None:
        if not self._is_quiet:
            for callback in self._listeners:
                callback()


def _field(keyword: str, default: Any) -> ipywidgets.Widget:
    """A widget of the default's kind."""
    common = {
        "description": keyword,
        "tooltip": keyword,
        "layout": {"width": "240px"},
        "style": {"description_width": "110px"},
    }
    if isinstance(default, bool):
        return ipywidgets.Checkbox(value=default, indent=False, **common)
    if isinstance(default, int):
        return ipywidgets.IntText(value=default, continuous_update=False, **common)
    if isinstance(default, float):
        return ipywidgets.FloatText(value=default, continuous_update=False, **common)
    shown = "" if default is inspect.Parameter.empty else _as_text(default)
    return ipywidgets.Text(value=shown, continuous_update=False, **common)


def _is_typed(field: ipywidgets.Widget) -> bool:
    return not isinstance(field, ipywidgets.Text)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _parsed(keyword: str, text: str) -> Any:
    """The value of a text field: a Python literal, or the text itself; empty is left out."""
    text = text.strip()
    if not text:
        return inspect.Parameter.empty
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        if _SPECIAL & set(text):
            raise InvalidArgumentError(
                f"{keyword}: {text!r} is neither a plain word nor a Python literal"
            ) from None
        return text


def _fits_text(value: Any) -> bool:
    """Whether `name:keyword=value` can say it."""
    if isinstance(value, str):
        return not _SPECIAL & set(value)
    return isinstance(value, bool | int | float) or value is None
