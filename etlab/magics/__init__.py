"""IPython magics, one a file named for it: `%load_ext etlab` brings them."""

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension", "magic_names"]


def magic_names() -> list[str]:
    """Names of all magics: the files that begin with "et"."""
    found = (info.name for info in pkgutil.iter_modules(__path__))
    return sorted(name for name in found if name.startswith("et"))


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Register the magics and their completion; prints nothing."""
    from etlab.magics.completion import complete_magics

    for name in magic_names():
        shell.register_magics(importlib.import_module(f"{__name__}.{name}").MAGICS)
    complete_magics(shell)
