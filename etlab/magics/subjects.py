"""What magics are about: runs, programs and models, by the expressions that users type."""

from typing import Any

import torch
from IPython.core.error import UsageError

from etlab.inspect.program_file import ProgramFile
from etlab.magics.support import evaluate, evaluate_cell, text_of
from etlab.run import ExportRun


def subject_of(shell: Any, parts: list[str], cell: str | None, magic: str) -> tuple[str, Any]:
    """The expression that a magic is about, and its value.

    Raises:
        UsageError: there is none, or it fails.
    """
    text = text_of(parts)
    if cell is not None:
        value = evaluate_cell(shell, cell)
        return text or "model", evaluate(shell, text, magic) if text else value
    if text is None:
        raise UsageError(f"{magic}: say what to work on, as in %{magic} model --inputs x")
    return text, evaluate(shell, text, magic)


def run_or_program(shell: Any, parts: list[str], magic: str) -> tuple[str, Any]:
    """A run or a program, and the Python that gives it; without an expression the only run.

    A program is a `ProgramFile`, or the path of a .pte file, in quotes or not.

    Raises:
        UsageError: it is neither.
    """
    text = text_of(parts)
    if text is None:
        return only_run(shell, magic)
    if text.endswith(".pte"):
        from etlab.inspect.loading import load

        return f"etlab.load({text!r})", load(text)
    value = evaluate(shell, text, magic)
    if not isinstance(value, ExportRun | ProgramFile):
        raise UsageError(
            f"{magic}: {text} is {type(value).__name__}; give a run (%etexport … -n run), a program"
            " (etlab.load) or the path of a .pte file"
        )
    return text, value


def only_run(shell: Any, magic: str) -> tuple[str, ExportRun]:
    """The session's run: `run`, or the only one.

    Raises:
        UsageError: there is none, or one must be chosen.
    """
    names = shell.user_ns if shell is not None else {}
    found = {
        key: value
        for key, value in names.items()
        if isinstance(value, ExportRun) and not key.startswith("_")
    }
    if "run" in found:
        return "run", found["run"]
    if len({id(value) for value in found.values()}) == 1:
        return next(iter(found.items()))
    if not found:
        raise UsageError(f"{magic}: no run yet: make one with %etexport … -n run")
    raise UsageError(f"{magic}: several runs, say which: {' or '.join(sorted(found))}")


def check_model(value: Any, text: str) -> torch.nn.Module:
    """`value` if it is a module.

    Raises:
        UsageError: it is not.
    """
    if not isinstance(value, torch.nn.Module):
        raise UsageError(
            f"{text} is {type(value).__name__}, not a torch.nn.Module (give the model itself)"
        )
    return value
