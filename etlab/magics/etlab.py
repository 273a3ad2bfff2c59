"""`%etlab`: what is set in this session, and setting it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.inspect.table import Table
from etlab.magics.support import one_line_errors
from etlab.session import THEMES, options


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of the session.

    Attributes:
        name: of the setting.
        value: as it is now.
        change: how to set it.
    """

    name: str
    value: str
    change: str


def settings() -> Table[Setting]:
    """What is set in this session."""
    from etlab.runtime import _native

    processors = os.cpu_count() or 1
    rows = [
        Setting("threads", f"{options.threads} of {processors}", "%etlab threads N"),
        Setting("progress", "on" if options.progress else "off", "%etlab progress on, off"),
        Setting("theme", options.theme, f"%etlab theme {', '.join(THEMES)}"),
        Setting("instructions", _native.instruction_set(), "environment of the kernel"),
    ]
    return Table(Setting, rows, title="etlab settings")


@magics_class
class SettingsMagics(Magics):
    """The settings of the session."""

    @magic_arguments()
    @argument(
        "what",
        nargs="?",
        help="threads, progress, theme or doctor; status (or options, or nothing) shows all",
    )
    @argument("value", nargs="?", help="what to set it to")
    @argument("--print-code", action="store_true", help="print the Python that does the same")
    @line_magic
    def etlab(self, line: str) -> Any:
        """Show the settings, or set one.

        `%etlab`, `%etlab threads 2` (kernels of every method, delegates included; results do not
        depend on it), `%etlab progress off`, `%etlab theme dark` (of views that say none),
        `%etlab doctor` (what works in this environment).
        """
        arguments = parse_argstring(self.etlab, line)
        what = arguments.what or "status"
        if what not in ACTIONS:
            raise UsageError(f"etlab: nothing is called '{what}': choose from {', '.join(ACTIONS)}")
        with one_line_errors("etlab", "see %etlab?"):
            result, code = ACTIONS[what](arguments.value)
        if arguments.print_code:
            print(code)
        return result


def _status(value: str | None) -> tuple[Any, str]:
    if value is not None:
        raise UsageError(f"etlab status takes no value, got '{value}'")
    return settings(), "import etlab\n\netlab.options"


def _threads(value: str | None) -> tuple[Any, str]:
    if value is None:
        return options.threads, "import etlab\n\netlab.options.threads"
    if not value.lstrip("-").isdigit():
        raise UsageError(f"etlab threads: expected a whole number, got '{value}'")
    options.threads = int(value)
    return None, f"import etlab\n\netlab.options.threads = {int(value)}"


def _progress(value: str | None) -> tuple[Any, str]:
    if value not in ("on", "off"):
        raise UsageError(f"etlab progress: expected on or off, got '{value or ''}'")
    options.progress = value == "on"
    return None, f"import etlab\n\netlab.options.progress = {value == 'on'}"


def _theme(value: str | None) -> tuple[Any, str]:
    if value is None:
        return options.theme, "import etlab\n\netlab.options.theme"
    if value not in THEMES:
        raise UsageError(f"etlab theme: expected one of {', '.join(THEMES)}, got '{value}'")
    options.theme = value
    return None, f"import etlab\n\netlab.options.theme = {value!r}"


def _doctor(value: str | None) -> tuple[Any, str]:
    import etlab

    if value is not None:
        raise UsageError(f"etlab doctor takes no value, got '{value}'")
    return etlab.doctor(), "import etlab\n\netlab.doctor()"


ACTIONS: dict[str, Callable[[str | None], tuple[Any, str]]] = {
    "status": _status,
    "options": _status,
    "threads": _threads,
    "progress": _progress,
    "theme": _theme,
    "doctor": _doctor,
}
MAGICS = SettingsMagics
