"""How nested inputs and outputs are written into a file: torch's pytree text, and class names.

Named tuples and dataclasses that have no serialized name stand as plain tuples and dicts, which any
reader understands; a key of our own beside them names the class:

    {"type": "builtins.tuple", "context": "null", "children_spec": [...],
     "etlab_class": {"module": "my.models", "name": "Pair", "fields": ["a", "b"]}}
"""

import dataclasses
import json
from collections import namedtuple
from typing import Any

from torch.utils import _pytree as pytree

CLASS_KEY = "etlab_class"


def tree_text(spec: pytree.TreeSpec | None) -> str:
    """A tree spec as stored; empty when it holds something that no reader could make again."""
    if spec is None:
        return ""
    try:
        text = pytree.treespec_dumps(_plain(spec), 1)
    except (NotImplementedError, TypeError):
        return ""
    protocol, tree = json.loads(text)
    if not _name_classes(spec, tree):
        return text
    return json.dumps([protocol, tree])


def _plain(spec: pytree.TreeSpec) -> pytree.TreeSpec:
    """The spec with plain containers where a class has no serialized name."""
    if spec.is_leaf():
        return spec
    children = [_plain(child) for child in spec.children()]
    if _has_serialized_name(spec):
        return pytree.TreeSpec(spec.type, spec.context, children)
    if spec.type is namedtuple or _is_struct_sequence(spec.type):
        return pytree.TreeSpec(tuple, None, children)
    if dataclasses.is_dataclass(spec.type):
        return pytree.TreeSpec(dict, list(spec.context[0]), children)
    return pytree.TreeSpec(spec.type, spec.context, children)


def _has_serialized_name(spec: pytree.TreeSpec) -> bool:
    kind = spec.context if spec.type is namedtuple else spec.type
    entry = pytree.SUPPORTED_SERIALIZED_TYPES.get(kind)
    return entry is not None and entry.serialized_type_name != pytree.NO_SERIALIZED_TYPE_NAME_FOUND


def _is_struct_sequence(kind: Any) -> bool:
    """Whether `kind` is one of torch's named results, such as `torch.return_types.topk`."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "n_sequence_fields")


def _name_classes(spec: pytree.TreeSpec, tree: dict[str, Any]) -> bool:
    """Write the names of classes into the text's tree; whether there were any."""
    if spec.is_leaf():
        return False
    named = _class_of(spec)
    if named is not None:
        tree[CLASS_KEY] = named
    below = [
        _name_classes(child, part)
        for child, part in zip(spec.children(), tree["children_spec"], strict=True)
    ]
    return named is not None or any(below)


def _class_of(spec: pytree.TreeSpec) -> dict[str, Any] | None:
    kind, absent = spec.type, []
    if kind is namedtuple:
        kind = spec.context
        fields = list(kind._fields)
    elif _is_struct_sequence(kind):
        fields = list(kind.__match_args__)
    elif dataclasses.is_dataclass(kind):
        fields, absent = list(spec.context[0]), list(spec.context[1])
    else:
        return None
    named = {"module": kind.__module__, "name": kind.__qualname__, "fields": fields}
    return {**named, "absent": absent} if absent else named
