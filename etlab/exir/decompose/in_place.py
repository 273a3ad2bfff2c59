"""Calls of a user's operators that write into their arguments, made functional."""

from typing import TYPE_CHECKING, Any

from torch import fx
from torch._ops import OpOverload

from etlab.exir.decompose.aliases import BeyondWalkError
from etlab.exir.in_place import functionally, why_not_in_place, written_places

if TYPE_CHECKING:
    from etlab.exir.decompose.walk import Walk


def lower_in_place(
    walk: "Walk", target: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], val: Any
) -> Any:
    """Bring over a call that writes; what it writes gets new values, what it returns comes back."""
    if why_not_in_place(target) is not None:
        return walk.refuse(target, args, kwargs, val)
    given = _bound(target, args, kwargs)
    places = [place for place in written_places(target) if given[place] is not None]
    handles = [given[place] for place in places]
    returns = target._schema.returns
    is_list = [str(result.type) for result in returns] == ["List[Tensor]"]
    is_new = bool(returns) and returns[0].alias_info is None
    fresh = (list(val) if isinstance(val, list | tuple) else [val]) if is_new else []
    node = _call(walk, target, given, fresh, handles)
    new = [walk.item(node, index) for index in range(len(fresh) + len(handles))]
    for handle, value in zip(handles, new[len(fresh) :], strict=True):
        walk.write(handle, value)
    if is_list or len(fresh) > 1:
        return tuple(new[: len(fresh)])
    if fresh:
        return new[0]
    by_alias = {_names(target._schema.arguments[place]): given[place] for place in places}
    passed_on = tuple(by_alias[_names(result)] for result in returns)
    return passed_on if len(passed_on) > 1 else next(iter(passed_on), None)


def lower_auto_functionalized(
    walk: "Walk", args: tuple[Any, ...], kwargs: dict[str, Any], val: Any
) -> Any:
    """Bring over what torch's functionalization (`run_decompositions`) made of such a call.

    Its results are those of the operator, or one None, then the new values of `_all_bases`.

    Raises:
        BeyondWalkError: the operator writes a part of a tensor.
    """
    target, bases = args[0], list(kwargs["_all_bases"])
    if why_not_in_place(target) is not None:
        return walk.refuse(target, (), kwargs, val)
    given: list[Any] = []
    base_of: dict[int, int] = {}
    for place, argument in enumerate(target._schema.arguments):
        name, value = argument.name, kwargs.get(argument.name, argument.default_value)
        if place in written_places(target) and kwargs[f"_{name}_base_index"] is not None:
            base_of[place] = kwargs[f"_{name}_base_index"]
            value = bases[base_of[place]]
        given.append(value)
        if f"_{name}_size" in kwargs or f"_{name}_slice_dim" in kwargs:
            raise BeyondWalkError(f"{target} writes a part of a tensor")
    fresh = [one for one in val[: len(val) - len(bases)] if one is not None]
    node = _call(walk, target, given, fresh, [bases[base] for base in base_of.values()])
    results: list[Any] = [walk.item(node, index) for index in range(len(fresh))] or [None]
    for index, base in enumerate(base_of.values()):
        bases[base] = walk.item(node, len(fresh) + index)
    return (*results, *bases)


def _call(
    walk: "Walk", target: OpOverload, given: list[Any], fresh: list[Any], handles: list[fx.Node]
) -> fx.Node:
    vals = [walk.fake(val.shape, val.dtype) for val in fresh]
    vals += [walk.fake(h.meta["val"].shape, h.meta["val"].dtype) for h in handles]
    return walk.raw(functionally, (target, *given), {}, tuple(vals))


def _bound(target: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """All arguments in the order of the schema."""
    values = []
    for place, argument in enumerate(target._schema.arguments):
        if place < len(args):
            values.append(args[place])
        else:
            values.append(kwargs.get(argument.name, argument.default_value))
    return values


def _names(described: Any) -> frozenset[str]:
    """What a schema calls the memory of an argument or result."""
    return frozenset(described.alias_info.before_set)
