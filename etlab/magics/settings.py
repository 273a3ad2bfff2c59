"""`%etlab`: what is set in this session, and setting it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.inspect.table import Table
from etlab.magics.progress import is_off
from etlab.magics.support import one_line_errors


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
    from etlab import runtime
    from etlab.runtime import _native

    processors = os.cpu_count() or 1
    rows = [
        Setting("threads", f"{runtime.thread_count()} of {processors}", "%etlab threads N"),
        Setting("progress", "off" if is_off() else "on", "%etlab progress on, off"),
        Setting("instructions", _native.instruction_set(), "environment of the kernel"),
    ]
    return Table(Setting, rows, title="etlab settings")


@magics_class
class SettingsMagics(Magics):
    """The settings of the session."""

    @magic_arguments()
    @argument("what", nargs="?", help="threads, progress or doctor; all settings if left out")
    @argument("value", nargs="?", help="what to set it to")
    @argument("--print-code", action="store_true", help="print the Python that does the same")
    @line_magic
    def etlab(self, line: str) -> Any:
        """Show the settings, or set one.

        `%etlab`, `%etlab threads 2` (kernels of every method, delegates included; results do not
        depend on it), `%etlab progress off`, `%etlab doctor` (what works in this environment).
        """
        arguments = parse_argstring(self.etlab, line)
        actions: dict[str | None, Callable[[str | None], tuple[Any, str]]] = {
            None: _status,
            "status": _status,
            "threads": _threads,
            "progress": _progress,
            "doctor": _doctor,
        }
        if arguments.what not in actions:
            names = ", ".join(name for name in actions if name)
            raise UsageError(f"etlab: nothing is called '{arguments.what}': choose from {names}")
        with one_line_errors("etlab", "see %etlab?"):
            result, code = actions[arguments.what](arguments.value)
        if arguments.print_code:
            print(code)
        return result


def _status(value: str | None) -> tuple[Any, str]:
    if value is not None:
        raise UsageError(f"etlab status takes no value, got '{value}'")
    return settings(), "from etlab import runtime\n\nruntime.thread_count()"


def _threads(value: str | None) -> tuple[Any, str]:
    from etlab import runtime

    if value is None:
        return runtime.thread_count(), "from etlab import runtime\n\nruntime.thread_count()"
    if not value.lstrip("-").isdigit():
        raise UsageError(f"etlab threads: expected a whole number, got '{value}'")
    runtime.set_thread_count(int(value))
    return None, f"from etlab import runtime\n\nruntime.set_thread_count({int(value)})"


def _progress(value: str | None) -> tuple[Any, str]:
    if value not in ("on", "off"):
        raise UsageError(f"etlab progress: expected on or off, got '{value or ''}'")
    os.environ["ETLAB_PROGRESS"] = value
    return None, f'import os\n\nos.environ["ETLAB_PROGRESS"] = "{value}"'


def _doctor(value: str | None) -> tuple[Any, str]:
    import etlab

    if value is not None:
        raise UsageError(f"etlab doctor takes no value, got '{value}'")
    return etlab.doctor(), "import etlab\n\netlab.doctor()"
