"""Classes that a program names for nested values: found among those in memory, else made.

A file is not trusted: no module is imported for it and no attribute hook runs. What it names is
used only when it is in memory already and has just the fields that the file gives.
"""

import collections
import dataclasses
import functools
import sys
from typing import Any

from torch.utils import _pytree as pytree

_MOST_FIELDS = 1000


def spec_of_class(named: Any, children: list[pytree.TreeSpec]) -> pytree.TreeSpec:
    """The node of a named tuple, struct sequence or dataclass over `children`.

    Args:
        named: what the file says: module, name, fields, and `absent` fields that were None.
        children: nodes of the fields.

    Raises:
        ValueError: the description is damaged.
    """
    fields, absent = _names(named.get("fields")), _names(named.get("absent", []))
    if len(fields) != len(children):
        raise ValueError(f"{len(fields)} fields for {len(children)} values")
    known = _in_memory(named.get("module"), named.get("name"))
    if dataclasses.is_dataclass(known) and known in pytree.SUPPORTED_NODES:
        own = {field.name for field in dataclasses.fields(known) if field.init}
        if own == {*fields, *absent}:
            return pytree.TreeSpec(known, [list(fields), list(absent)], children)
    if known is not None and issubclass(known, tuple):
        if getattr(known, "_fields", None) == fields:
            return pytree.TreeSpec(collections.namedtuple, known, children)
        if known in pytree.SUPPORTED_NODES and getattr(known, "__match_args__", None) == fields:
            return pytree.TreeSpec(known, None, children)
    made = _make(str(named.get("name")).rpartition(".")[2], fields, absent)
    return pytree.TreeSpec(collections.namedtuple, made, children)


def fields_of(spec: pytree.TreeSpec) -> tuple[str, ...] | None:
    """The names of a node's children, of named tuples and dataclasses."""
    if spec.type is collections.namedtuple:
        return tuple(spec.context._fields[: spec.num_children])
    return tuple(spec.context[0]) if dataclasses.is_dataclass(spec.type) else None


def _names(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or len(given) > _MOST_FIELDS:
        raise ValueError("the fields of a class are no list of names")
    if not all(isinstance(name, str) and name.isidentifier() for name in given):
        raise ValueError("the fields of a class are no names")
    return tuple(given)


def _in_memory(module: Any, name: Any) -> Any:
    """A class of a loaded module, looked up without running anything of its own; None if none."""
    if not isinstance(module, str) or not isinstance(name, str) or module not in sys.modules:
        return None
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = vars(found).get(part)
        if not isinstance(found, type):
            return None
    return found


@functools.lru_cache(maxsize=256)
def _make(name: str, fields: tuple[str, ...], absent: tuple[str, ...]) -> type:
    """A named tuple; `absent` fields come last and are None."""
    every = (*fields, *absent)
    return collections.namedtuple(name, every, defaults=[None] * len(absent))
