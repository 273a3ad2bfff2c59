"""Quantizers: one file each, found by its presence."""

import functools
import importlib
import pkgutil
from typing import Any

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.quantize.base import Quantizer, QuantizeRequest, parameters_of

__all__ = ["QuantizeRequest", "Quantizer", "all_quantizers", "find_quantizer", "parameters_of"]


@functools.cache
def all_quantizers() -> dict[str, type[Quantizer]]:
    """Every quantizer class by its name."""
    found: dict[str, type[Quantizer]] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for kind in vars(module).values():
            if (
                isinstance(kind, type)
                and issubclass(kind, Quantizer)
                and kind.__module__ == module.__name__
                and "name" in vars(kind)
            ):
                found[kind.name] = kind
    return found


def find_quantizer(name: str, **parameters: Any) -> Quantizer:
    """A quantizer by name.

    Raises:
        NotFoundError: no quantizer has that name; the message lists those that exist.
        InvalidArgumentError: it does not take such parameters.
    """
    known = all_quantizers()
    if name not in known:
        names = ", ".join(["none", *known])
        raise NotFoundError(f"no quantizer is called '{name}': choose from {names}")
    takes = parameters_of(known[name])
    if unknown := sorted(set(parameters) - set(takes)):
        raise InvalidArgumentError(
            f"quantizer '{name}' has no parameter {', '.join(unknown)}: "
            + (f"it takes {', '.join(takes)}" if takes else "it takes none")
        )
    return known[name](**parameters)
