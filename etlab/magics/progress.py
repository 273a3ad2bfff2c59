"""Which stage runs now, shown while a magic works and replaced by the times when it is done."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from etlab.exir.stages import StageListener, listen
from etlab.session import options


@contextlib.contextmanager
def progress(shell: Any) -> Iterator[None]:
    """Show every stage that begins inside the block; afterwards the times of all of them.

    `ETLAB_PROGRESS=off` asks for silence, as recorded notebooks do.
    """
    if not options.progress:
        yield
        return
    write = _notebook_line() if hasattr(shell, "kernel") else _terminal_line()
    listener = StageListener(
        on_start=lambda stage: write(f"{stage} …"),
        on_part=lambda stage, done, total: write(f"{part_text(stage, done, total)} …"),
    )
    with listen(listener):
        yield
    parts = [f"{name} {seconds:.2f} s" for name, seconds in listener.seconds.items()]
    write(", ".join(parts))


def part_text(stage: str, done: int, total: int | None) -> str:
    """How far a stage is.

    >>> part_text("calibrate", 2, 8)
    'calibrate 3 of 8'
    """
    return f"{stage} {done + 1}" + ("" if total is None else f" of {total}")


def _notebook_line() -> Any:
    from IPython.display import Pretty, display

    handle = None

    def write(text: str) -> None:
        nonlocal handle
        if handle is None:
            handle = display(Pretty(text), display_id=True)
        else:
            handle.update(Pretty(text))

    return write


def _terminal_line() -> Any:
    def write(text: str) -> None:
        if sys.stderr.isatty():
            ending = "" if text.endswith("…") else "\n"
            print(f"\r\x1b[K{text}", end=ending, file=sys.stderr, flush=True)

    return write
