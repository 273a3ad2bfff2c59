"""Progress on one line of a terminal."""

import shutil
import sys
from typing import Self


class StatusLine:
    """Shows the latest line of a tool where the line before stood; silent when no one looks."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()

    def show(self, line: str) -> None:
        """Show `line`, cut to the terminal's width."""
        if self._is_shown:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{line[:width]}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        """The object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Clear the line."""
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
