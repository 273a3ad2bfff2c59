"""What the Tab key offers after a magic's name: options, and values where they are known."""

import importlib
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from etlab.run import PATHS, STAGES


def complete_magics(shell: Any) -> None:
    """Offer completions for every magic of etlab in this shell."""
    from etlab.magics import magic_names

    if not hasattr(shell, "set_hook"):
        return
    for name in magic_names():
        for prefix in ("%", "%%"):
            shell.set_hook("complete_command", _offers_of(shell, name), str_key=f"{prefix}{name}")


def _offers_of(shell: Any, name: str) -> Callable[[Any, Any], list[str]]:
    def offers(_: Any, event: Any) -> list[str]:
        from IPython.core.error import TryNext

        typed = event.text_until_cursor if hasattr(event, "text_until_cursor") else event.line
        found = completions(shell, name, typed)
        if not found:
            raise TryNext  # names of the session
        return found

    return offers


def completions(shell: Any, name: str, typed: str) -> list[str]:
    """What can stand where the line ends.

    Args:
        shell: whose magics they are.
        name: of the magic.
        typed: the line up to the cursor.
    """
    words = typed.split()
    last = "" if typed.endswith((" ", "\t")) else words[-1]
    before = words[-1] if not last else words[-2] if len(words) > 1 else ""
    kinds = shell.magics_manager.magics
    function = kinds["line"].get(name) or kinds["cell"].get(name)
    actions = {
        option: action
        for action in getattr(function, "parser", ArgumentParser())._actions
        for option in action.option_strings
    }
    if before in actions and actions[before].nargs != 0:
        found = _values(actions[before], last)
        return [value for value in found if value.startswith(last.rpartition(":")[2])]
    if last.startswith("-"):
        return sorted(option for option in actions if option.startswith(last))
    if name == "etlab" and len(words) <= (1 if not last else 2):
        from etlab.magics.etlab import ACTIONS

        return [what for what in ACTIONS if what.startswith(last)]
    return []


def _values(action: Any, typed: str) -> list[str]:
    """The values of an option; of parameters once a name with a colon stands there."""
    from etlab.choices import list_partitioners, list_quantizers

    if action.choices:
        return list(action.choices)
    lists: dict[str, Callable[[], Any]] = {
        "partitioner": list_partitioners,
        "quantizer": list_quantizers,
    }
    if action.dest in lists:
        choices = lists[action.dest]()
        name, colon, _ = typed.partition(":")
        if not colon:
            return list(choices.names)
        known = {choice.name: choice.parameters for choice in choices}
        return [f"{parameter}=" for parameter in known.get(name, ())]
    modules: dict[str, Callable[[], Any]] = {
        "show": lambda: importlib.import_module("etlab.magics.etexport").SHOWN,
        "algo": lambda: importlib.import_module("etlab.exir.memory.planners").list_planners(),
        "only": lambda: importlib.import_module("etlab.inspect.diff").SECTIONS,
        "reference": lambda: PATHS,
        "path": lambda: PATHS,
        "paths": lambda: PATHS,
        "stages": lambda: STAGES,
        "color_by": lambda: ("backend", "dtype", "operator", "bytes", "none"),
    }
    return list(modules[action.dest]()) if action.dest in modules else []
