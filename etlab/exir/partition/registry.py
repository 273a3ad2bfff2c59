"""Backends by name: found in the folder `etlab.backends` and among the user's own classes."""

import importlib
import importlib.util
import pkgutil
from functools import cache
from types import ModuleType
from typing import Any

from etlab.errors import BackendMissingError, InvalidArgumentError, NotFoundError
from etlab.exir.partition.backend import BackendDetails
from etlab.exir.partition.partitioner import Partitioner
from etlab.named import classes_in, make_named

_PACKAGE = "etlab.backends"

# Backends that users defined: the partitioner and the compiler, by the name to choose them by.
_OWN: dict[str, tuple[type[Partitioner], type[BackendDetails]]] = {}


def register_partitioner(
    name: str, partitioner: type[Partitioner], backend: type[BackendDetails]
) -> None:
    """Let a user's backend be chosen by name; a name may be registered again.

    Raises:
        InvalidArgumentError: a backend that comes with etlab has the name, or the class's.
    """
    taken = set(backend_names()) | set(partitioner_classes()) - set(_OWN)
    ids = {id for own in backend_names() for id in backend_ids(own)}
    if name in taken or backend.__name__ in ids:
        which = f"the name '{name}'" if name in taken else f"a class called {backend.__name__}"
        raise InvalidArgumentError(f"backend: {which} belongs to etlab itself; choose another one")
    _OWN[name] = (partitioner, backend)


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
    """The partitioners of all backends, by the names to choose them by."""
    found: dict[str, type[Partitioner]] = {}
    for name in backend_names():
        found |= _own_partitioners(name)
    return found | {name: partitioner for name, (partitioner, _) in _OWN.items()}


def _own_partitioners(backend: str) -> dict[str, type[Partitioner]]:
    """The partitioners of one backend; the first without a `choice` has the backend's name."""
    found: dict[str, type[Partitioner]] = {}
    for kind in classes_in(_package(backend), Partitioner):
        found.setdefault(kind.__dict__.get("choice") or backend, kind)
    return dict(sorted(found.items()))


def partitioner_class(name: str) -> type[Partitioner]:
    """The partitioner to choose by `name`.

    Raises:
        NotFoundError: there is none of that name.
    """
    if name in backend_names() and name in (own := _own_partitioners(name)):
        return own[name]
    known = partitioner_classes()
    if name not in known:
        raise NotFoundError(f"no partitioner '{name}'; there are: {', '.join(known) or 'none'}")
    return known[name]


def find_partitioner(name: str, **parameters: Any) -> Partitioner:
    """A partitioner by its name; raises as `etlab.named.make_named`."""
    return make_named("partitioner", partitioner_classes(), name, parameters)


def backend_ids(name: str) -> set[str]:
    """The ids under which programs delegate to the backend called `name`.

    Raises:
        NotFoundError: no backend has that name.
    """
    if name in _OWN:
        return {_OWN[name][1].__name__}
    if name not in backend_names():
        raise NotFoundError(
            f"no backend '{name}'; there are: {', '.join((*backend_names(), *_OWN))}"
        )
    return {kind.__name__ for kind in classes_in(_package(name), BackendDetails)}


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
