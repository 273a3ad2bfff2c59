"""Decompositions of our own, for operators that have no kernel and no official one.

Each is an ordinary function of tensors; it is recorded as a template like the official ones. One
file a family, found by presence.
"""

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

RECIPES: dict[Any, Callable[..., Any]] = {}


def recipe(*operators: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a decomposition for `operators`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for operator in operators:
            RECIPES[operator] = function
        return function

    return register


def all_recipes() -> dict[Any, Callable[..., Any]]:
    """Every recipe by its operator."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return RECIPES
