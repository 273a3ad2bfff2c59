"""Nested inputs and outputs by the pytree texts that a program carries."""

import dataclasses
import functools
import json
import sys
from collections.abc import Sequence
from typing import Any

from torch.utils import _pytree as pytree

from etlab.errors import InvalidArgumentError, InvalidProgramError
from etlab.runtime.named_classes import fields_of, spec_of_class

# What a file may name in the text of a nesting; torch would import any module that stands there.
_HARMLESS_FACTORIES = {"list", "dict", "set", "tuple", "int", "float", "str", "bool"}

# Beside a node of the text: the class that its values had at export (etlab's own addition).
_CLASS_KEY = "etlab_class"


def _refuse_imports(item: Any) -> None:
    """Raise when reading a piece of pytree text would import a module that the file chooses."""
    if isinstance(item, dict):
        if "default_factory_module" in item:
            factory = (item["default_factory_module"], item.get("default_factory_name"))
            if factory[0] != "builtins" or factory[1] not in _HARMLESS_FACTORIES:
                raise ValueError(f"it names {factory[0]}.{factory[1]}")
        if "__enum__" in item and str(item.get("fqn")).partition(":")[0] not in sys.modules:
            raise ValueError(f"it names {item.get('fqn')}, import its module first")
        for value in item.values():
            _refuse_imports(value)
    elif isinstance(item, list):
        for value in item:
            _refuse_imports(value)
    elif isinstance(item, str) and ("__enum__" in item or "default_factory_module" in item):
        _refuse_imports(json.loads(item))  # contexts are JSON within JSON


@functools.lru_cache(maxsize=256)
def parse_nesting(text: str) -> pytree.TreeSpec:
    """The tree that a file's pytree text describes.

    Raises:
        InvalidProgramError: the text is damaged, or names what this process cannot make.
    """
    try:
        content = json.loads(text)
        _refuse_imports(content)
        if f'"{_CLASS_KEY}"' not in text:
            return pytree.treespec_loads(text)
        protocol, tree = content
        return _spec_with_classes(protocol, tree)
    except Exception as error:  # the text is a file's: anything may be wrong with it
        raise InvalidProgramError(
            f"the program's description of nested inputs or outputs cannot be read ({error});"
            " use execute() with flat inputs"
        ) from error


def _spec_with_classes(protocol: int, tree: dict[str, Any]) -> pytree.TreeSpec:
    """The spec of a text in which classes are named."""
    children = [_spec_with_classes(protocol, child) for child in tree["children_spec"]]
    if _CLASS_KEY in tree:
        return spec_of_class(tree[_CLASS_KEY], children)
    leaves: list[Any] = [{"type": None, "context": None, "children_spec": []}] * len(children)
    own = pytree.treespec_loads(json.dumps([protocol, {**tree, "children_spec": leaves}]))
    return pytree.TreeSpec(own.type, own.context, children) if children else own


def flatten_inputs(
    method: str, spec_text: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> list[Any]:
    """The flat inputs of a call, checked against the nesting at export.

    Args:
        method: its name, for errors.
        spec_text: pytree text of `(args, kwargs)`; empty takes flat positional inputs.
        args: positional arguments.
        kwargs: keyword arguments, in any order.

    Raises:
        InvalidArgumentError: the nesting is not the exported one.
    """
    if not spec_text:
        if kwargs:
            raise InvalidArgumentError(
                f"method '{method}': the program does not know the names of its inputs, got"
                f" {sorted(kwargs)}; give them by position"
            )
        return list(args)
    expected = parse_nesting(spec_text)
    try:
        return _leaves(expected, (tuple(args), kwargs))
    except ValueError as error:
        actual = pytree.tree_structure((tuple(args), kwargs))
        raise InvalidArgumentError(
            f"method '{method}': expected inputs nested as {_show(expected)}, got {_show(actual)}"
        ) from error


def unflatten_outputs(method: str, spec_text: str, outputs: list[Any]) -> Any:
    """The outputs nested as the model returned them; the flat list when `spec_text` is empty.

    Raises:
        InvalidProgramError: the text does not fit the number of outputs.
    """
    if not spec_text:
        return outputs
    spec = parse_nesting(spec_text)
    if spec.num_leaves != len(outputs):
        raise InvalidProgramError(
            f"method '{method}': the program describes {spec.num_leaves} nested outputs but"
            f" returns {len(outputs)}; use execute()"
        )
    return pytree.tree_unflatten(outputs, spec)


def _leaves(spec: pytree.TreeSpec, value: Any) -> list[Any]:
    """The leaves of `value`, which must be nested as `spec`; ValueError when it is not."""
    if spec.is_leaf():
        if not pytree.tree_is_leaf(value):
            raise ValueError(f"a leaf is expected, not a {type(value).__name__}")
        return [value]
    pairs = zip(spec.children(), _children(spec, value), strict=True)
    return [leaf for child, item in pairs for leaf in _leaves(child, item)]


def _children(spec: pytree.TreeSpec, value: Any) -> list[Any]:
    """The children of `value` for one node: keys in any order, one named tuple for another."""
    if spec.type is dict and isinstance(value, dict) and set(value) == set(spec.context):
        return [value[key] for key in spec.context]
    fields = fields_of(spec)
    has_names = dataclasses.is_dataclass(value) or hasattr(value, "_fields")
    if fields is not None and has_names and all(hasattr(value, field) for field in fields):
        return [getattr(value, field) for field in fields]
    is_tuple = type(value) is tuple or pytree.is_namedtuple_instance(value)
    if is_tuple and (spec.type is tuple or fields is not None):
        return list(value)
    leaf = pytree.tree_structure(0)
    one_level = pytree.TreeSpec(spec.type, spec.context, [leaf] * spec.num_children)
    return one_level.flatten_up_to(value)


def _show(spec: pytree.TreeSpec) -> str:
    """A nesting as Python writes it, with * for a leaf: ((*, {'mask': *}), {})."""
    try:
        return repr(pytree.tree_unflatten([_Leaf()] * spec.num_leaves, spec))
    except Exception:  # a class of the user's may refuse to be made of placeholders
        return str(spec)


class _Leaf:
    def __repr__(self) -> str:
        return "*"
