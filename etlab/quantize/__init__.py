"""Quantizers: one file each, found by its presence."""

import functools
import importlib
import pkgutil
from typing import Any

from etlab.named import classes_in, make_named
from etlab.quantize.base import Quantizer, QuantizeRequest

__all__ = ["QuantizeRequest", "Quantizer", "all_quantizers", "find_quantizer"]


@functools.cache
def all_quantizers() -> dict[str, type[Quantizer]]:
    """Every quantizer class by its name."""
    found: dict[str, type[Quantizer]] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for kind in classes_in(module, Quantizer):
            if kind.__module__ == module.__name__ and "name" in vars(kind):
                found[kind.name] = kind
    return found


def find_quantizer(name: str, **parameters: Any) -> Quantizer:
    """A quantizer by name.

    Raises:
        NotFoundError: no quantizer has that name; the message lists those that exist.
        InvalidArgumentError: it does not take such parameters.
    """
    return make_named("quantizer", all_quantizers(), name, parameters)
