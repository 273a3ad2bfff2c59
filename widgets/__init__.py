"""Views, one a file: `graph_view.py` holds `GraphView`; imported when first asked for."""

import importlib
import pkgutil

__all__ = ["find_view", "view_names"]


def _files() -> dict[str, str]:
    """View name to module name."""
    return {
        "".join(part.capitalize() for part in info.name.split("_")): info.name
        for info in pkgutil.iter_modules(__path__)
        if not info.name.startswith("_")
    }


def view_names() -> list[str]:
    """Names of all views."""
    return sorted(_files())


def find_view(name: str) -> type:
    """The class of a view.

    Raises:
        AttributeError: there is no such view, as for any missing name of a module.
    """
    files = _files()
    if name not in files:
        raise AttributeError(f"etlab has no view '{name}'; there are: {', '.join(view_names())}")
    view: type = getattr(importlib.import_module(f"{__name__}.{files[name]}"), name)
    return view
