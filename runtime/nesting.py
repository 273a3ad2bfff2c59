"""Nested inputs and outputs by the pytree texts that a program carries."""

import functools
import json
import sys
from collections.abc import Sequence
from typing import Any

from torch.utils import _pytree as pytree

from etlab.errors import InvalidArgumentError, InvalidProgramError

# What a file may name in the text of a nesting; torch would import any module that stands there.
_HARMLESS_FACTORIES = {"list", "dict", "set", "tuple", "int", "float", "str", "bool"}


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
def _parse(text: str) -> pytree.TreeSpec:
    try:
        _refuse_imports(json.loads(text))
        return pytree.treespec_loads(text)
    except Exception as error:  # the text is a file's: anything may be wrong with it
        raise InvalidProgramError(
            f"the program's description of nested inputs or outputs cannot be read ({error});"
            " use execute() with flat inputs"
        ) from error


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
    expected = _parse(spec_text)
    try:
        given = _as_stored(expected, (tuple(args), kwargs))
        leaves: list[Any] = expected.flatten_up_to(given)  # dictionaries in any order
        is_fitting = all(pytree.tree_is_leaf(leaf) for leaf in leaves)
    except ValueError:
        is_fitting = False
    if not is_fitting:
        actual = pytree.tree_structure((tuple(args), kwargs))
        raise InvalidArgumentError(
            f"method '{method}': expected inputs nested as {_show(expected)}, got {_show(actual)}"
        )
    return leaves


def unflatten_outputs(method: str, spec_text: str, outputs: list[Any]) -> Any:
    """The outputs nested as the model returned them; the flat list when `spec_text` is empty.

    Raises:
        InvalidProgramError: the text does not fit the number of outputs.
    """
    if not spec_text:
        return outputs
    spec = _parse(spec_text)
    if spec.num_leaves != len(outputs):
        raise InvalidProgramError(
            f"method '{method}': the program describes {spec.num_leaves} nested outputs but"
            f" returns {len(outputs)}; use execute()"
        )
    return pytree.tree_unflatten(outputs, spec)


def _as_stored(spec: pytree.TreeSpec, value: Any) -> Any:
    """`value` with plain tuples for the named ones where the program holds plain ones."""
    if spec.type is dict and isinstance(value, dict) and set(value) == set(spec.context):
        children = dict(zip(spec.context, spec.children(), strict=True))
        return {key: _as_stored(children[key], item) for key, item in value.items()}
    is_tuple = type(value) is tuple or pytree.is_namedtuple_instance(value)
    is_same_kind = is_tuple if spec.type is tuple else spec.type is type(value) is list
    if is_same_kind and len(value) == spec.num_children:
        items = [_as_stored(*pair) for pair in zip(spec.children(), value, strict=True)]
        return items if spec.type is list else tuple(items)
    return value


def _show(spec: pytree.TreeSpec) -> str:
    """A nesting as Python writes it, with * for a leaf: ((*, {'mask': *}), {})."""
    return repr(pytree.tree_unflatten([_Leaf()] * spec.num_leaves, spec))


class _Leaf:
    def __repr__(self) -> str:
        return "*"
