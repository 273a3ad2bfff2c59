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
    ordered = _order_keywords(expected, kwargs)
    leaves, actual = pytree.tree_flatten((tuple(args), ordered))
    if actual != expected:
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


def _order_keywords(expected: pytree.TreeSpec, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments in the order at export, where all of them are known."""
    if expected.num_children != 2 or expected.child(1).type is not dict:
        return kwargs
    names = expected.child(1).context
    if not isinstance(names, list) or set(names) != set(kwargs):
        return kwargs
    return {name: kwargs[name] for name in names}


def _show(spec: pytree.TreeSpec) -> str:
    """A nesting as Python writes it, with * for a leaf: ((*, {'mask': *}), {})."""
    return repr(pytree.tree_unflatten([_Leaf()] * spec.num_leaves, spec))


class _Leaf:
    def __repr__(self) -> str:
        return "*"
