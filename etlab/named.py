"""Classes that users choose by name: found in modules, made with keyword parameters."""

import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any, TypeVar

from etlab.errors import InvalidArgumentError, NotFoundError

Kind = TypeVar("Kind")


def classes_in(module: ModuleType, base: type[Kind]) -> list[type[Kind]]:
    """The subclasses of `base` that a module holds, by their name."""
    return [
        value
        for _, value in sorted(vars(module).items())
        if inspect.isclass(value) and issubclass(value, base) and value is not base
    ]


def parameters_of(kind: type) -> dict[str, Any]:
    """Constructor keywords of `kind` with their defaults (`inspect.Parameter.empty` where none)."""
    if kind.__init__ is object.__init__:  # type: ignore[misc]  # the class's own, by intent
        return {}
    return {
        name: parameter.default
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }


def make_named(
    what: str, known: Mapping[str, type[Kind]], name: str, parameters: Mapping[str, Any]
) -> Kind:
    """An object of the class that `known` has under `name`.

    Args:
        what: the kind of thing, for errors: "quantizer".
        known: classes by the names that users give.
        name: which one.
        parameters: constructor keywords.

    Raises:
        NotFoundError: there is no such name; the message lists those that exist.
        InvalidArgumentError: it does not take such parameters, or needs others.
    """
    if name not in known:
        names = ", ".join(["none", *known])
        way = f"; parameters stand behind a colon: '{name.split('(')[0]}:keyword=value'"
        raise NotFoundError(
            f"no {what} is called '{name}': choose from {names}{way if '(' in name else ''}"
        )
    takes = parameters_of(known[name])
    if unknown := sorted(set(parameters) - set(takes)):
        raise InvalidArgumentError(
            f"{what} '{name}' has no parameter {', '.join(unknown)}: "
            + (f"it takes {', '.join(takes)}" if takes else "it takes none")
        )
    empty = inspect.Parameter.empty
    if missing := [
        key for key, default in takes.items() if default is empty and key not in parameters
    ]:
        raise InvalidArgumentError(
            f"{what} '{name}' needs {', '.join(missing)}: write"
            f" '{name}:{','.join(f'{key}=value' for key in missing)}'"
        )
    given = {
        key: _fitting(f"{what} '{name}': {key}", value, takes[key])
        for key, value in parameters.items()
    }
    return known[name](**given)


def _fitting(who: str, value: Any, default: Any) -> Any:
    """A value of the default's kind, as far as that says one; one name for several is a tuple.

    Raises:
        InvalidArgumentError: it is of another kind.
    """
    if isinstance(default, tuple) and isinstance(value, str):
        return (value,)
    for kind in (bool, int, str):
        # None is the class's own matter: it may stand for "all of them".
        if value is not None and type(default) is kind and type(value) is not kind:
            raise InvalidArgumentError(
                f"{who}: expected {kind.__name__} as in {default!r}, got {value!r}"
            )
    return value
