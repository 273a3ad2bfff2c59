"""Operators that ExecuTorch's own package defines, too, under the same names.

PyTorch lets a process define an operator once. Where that package was imported first, its
definitions serve; where it is imported later, ours give way at that moment.
"""

import sys
from importlib.abc import MetaPathFinder
from typing import Any

import torch


def shared_library(namespace: str, defined_by: str) -> Any:
    """A library to define operators in, until a module that defines them is imported.

    Args:
        namespace: of the operators.
        defined_by: the name of that module.

    Returns:
        A `torch.library.Library`; keep it.
    """
    library: Any = torch.library.Library(namespace, "FRAGMENT")  # type: ignore[no-untyped-call]
    _giving_way.libraries.setdefault(defined_by, []).append(library)
    return library


class _GivingWay(MetaPathFinder):
    """Finds no module: sees which ones are looked for."""

    def __init__(self) -> None:
        self.libraries: dict[str, list[Any]] = {}

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Withdraw what the module is about to define."""
        for library in self.libraries.pop(fullname, ()):
            library._destroy()


_giving_way = _GivingWay()
sys.meta_path.insert(0, _giving_way)
