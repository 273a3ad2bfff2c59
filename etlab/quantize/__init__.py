"""Quantizers: one file each, here or with a backend, found by its presence."""

import functools
import importlib.util
import pkgutil
from pathlib import Path
from typing import Any

from etlab.errors import InvalidArgumentError
from etlab.named import classes_in, make_named
from etlab.quantize.base import Quantizer, QuantizeRequest

__all__ = [
    "QuantizeRequest",
    "Quantizer",
    "all_quantizers",
    "find_quantizer",
    "register_quantizer",
]

_BACKENDS = "etlab.backends"
_OWN: dict[str, type[Quantizer]] = {}  # that users defined


def register_quantizer(kind: type[Quantizer]) -> type[Quantizer]:
    """Let a user's quantizer be chosen by its `name`; a name may be registered again.

    Returns:
        The class, so that this can be its decorator.

    Raises:
        InvalidArgumentError: it is no subclass of Quantizer with a name and a summary, or the name
            is one of etlab's own.
    """
    is_kind = isinstance(kind, type) and issubclass(kind, Quantizer)
    if not is_kind or not all(hasattr(kind, need) for need in ("name", "summary")):
        raise InvalidArgumentError(
            "register_quantizer: expected a subclass of etlab.quantize.Quantizer with a name and a "
            f"summary, got {kind!r}"
        )
    if kind.name in _found_quantizers():
        raise InvalidArgumentError(
            f"register_quantizer: '{kind.name}' is etlab's own; choose another name"
        )
    _OWN[kind.name] = kind
    return kind


def all_quantizers() -> dict[str, type[Quantizer]]:
    """Every quantizer class by its name."""
    return {**_found_quantizers(), **_OWN}


@functools.cache
def _found_quantizers() -> dict[str, type[Quantizer]]:
    found: dict[str, type[Quantizer]] = {}
    for name in _modules():
        module = importlib.import_module(name)
        for kind in classes_in(module, Quantizer):
            if kind.__module__ == module.__name__ and "name" in vars(kind):
                found[kind.name] = kind
    return found


def _modules() -> list[str]:
    """Where quantizers are: the modules of this folder, and `quantizers.py` of each backend."""
    own = sorted(f"{__name__}.{info.name}" for info in pkgutil.iter_modules(__path__))
    spec = importlib.util.find_spec(_BACKENDS)
    folders = spec.submodule_search_locations if spec is not None else None
    files = [path for folder in folders or () for path in Path(folder).glob("*/quantizers.py")]
    theirs = [f"{_BACKENDS}.{path.parent.name}.quantizers" for path in files]
    return own + sorted(theirs)


def find_quantizer(name: str, **parameters: Any) -> Quantizer:
    """A quantizer by name.

    Raises:
        NotFoundError: no quantizer has that name; the message lists those that exist.
        InvalidArgumentError: it does not take such parameters.
    """
    return make_named("quantizer", all_quantizers(), name, parameters)
