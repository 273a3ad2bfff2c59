"""Backends by name: found in the folder `etlab.backends` and among the user's own classes."""

import importlib
import importlib.util
import pkgutil
from functools import cache
from types import ModuleType
from typing import Any

from etlab.errors import BackendMissingError, NotFoundError
from etlab.exir.partition.backend import BackendDetails
from etlab.exir.partition.partitioner import Partitioner
from etlab.named import classes_in, make_named

_PACKAGE = "etlab.backends"


@cache
def backend_names() -> tuple[str, ...]:
    """Names of the backends that come with etlab, without importing them."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.submodule_search_locations is None:
        return ()
    found = pkgutil.iter_modules(spec.submodule_search_locations)
    return tuple(sorted(m.name for m in found if m.ispkg and not m.name.startswith("_")))


def _package(name: str) -> ModuleType:
    return importlib.import_module(f"{_PACKAGE}.{name}")


def partitioner_classes() -> dict[str, type[Partitioner]]:
    """The partitioner of every backend that has one, by the backend's name."""
    found: dict[str, type[Partitioner]] = {}
    for name in backend_names():
        classes = classes_in(_package(name), Partitioner)
        if classes:
            found[name] = classes[0]
    return found


def partitioner_class(name: str) -> type[Partitioner]:
    """The partitioner of the backend called `name`.

    Raises:
        NotFoundError: no backend of that name, or none with a partitioner.
    """
    if name in backend_names():
        classes = classes_in(_package(name), Partitioner)
        if classes:
            return classes[0]
    raise NotFoundError(
        f"no partitioner '{name}'; there are: {', '.join(partitioner_classes()) or 'none'}"
    )


def find_partitioner(name: str, **parameters: Any) -> Partitioner:
    """A partitioner by its backend's name; raises as `etlab.named.make_named`."""
    return make_named("partitioner", partitioner_classes(), name, parameters)


def _all_subclasses(base: type) -> list[type]:
    found: list[type] = []
    subclasses: list[type] = base.__subclasses__()
    for direct in subclasses:
        found += [direct, *_all_subclasses(direct)]
    return found


def backend_class(backend_id: str) -> type[BackendDetails]:
    """The backend whose class is called `backend_id`; the newest one if several are.

    Raises:
        BackendMissingError: there is none.
    """
    matching = [c for c in _all_subclasses(BackendDetails) if c.__name__ == backend_id]
    if matching:
        return matching[-1]
    for name in backend_names():
        for found in classes_in(_package(name), BackendDetails):
            if found.__name__ == backend_id:
                return found
    known = sorted({c.__name__ for c in _all_subclasses(BackendDetails)})
    raise BackendMissingError(
        f"no backend '{backend_id}'; there are: {', '.join(known) or 'none'}. A backend is a "
        "subclass of BackendDetails; import the module that defines it"
    )
