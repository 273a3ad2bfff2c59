"""The planners by name: modules of this folder that define a function of their name."""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from etlab.errors import NotFoundError
from etlab.exir import memory
from etlab.exir.memory.interval import Planner


def list_planners() -> list[str]:
    """Names of the planners."""
    names = [module.name for module in pkgutil.iter_modules(memory.__path__)]
    return sorted(name for name in names if callable(_planner_in(name)))


def find_planner(algorithm: str | Planner) -> Planner:
    """The planner of a name.

    Raises:
        NotFoundError: there is none.
    """
    if not isinstance(algorithm, str):
        return algorithm
    planner: Planner | None = _planner_named(algorithm)
    if planner is None:
        raise NotFoundError(
            f"there is no memory planner '{algorithm}'; choose one of {', '.join(list_planners())}"
        )
    return planner


@cache
def _planner_named(name: str) -> Any:
    return _planner_in(name) if name in list_planners() else None


def _planner_in(name: str) -> Any:
    return getattr(import_module(f"{memory.__name__}.{name}"), name, None)
