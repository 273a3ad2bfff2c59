"""Operators of a user that write into their arguments.

An edge graph is functional: the call stands in it as one that returns what it would have written.

    mylib.update(cache, row, 3) -> y          writes cache
    functionally(mylib.update, cache, row, 3) -> (y, new cache)

In a program the operator itself is called, on a copy, or on the state that gets the new value.
"""

from functools import cache
from typing import Any

from torch import fx
from torch._ops import HigherOrderOperator, OpOverload

from etlab.exir.edge import EdgeGraph, OutputKind
from etlab.exir.graph import state_targets
from etlab.exir.ops import CLONE_DIM_ORDER, is_custom_namespace, synthesize
from etlab.exir.schedule import Call, Role, Value

# Namespaces of libraries whose operators write caches as a user's may.
_WRITING = frozenset({"llama"})


class _Functionally(HigherOrderOperator):
    """Calls an operator on copies of what it writes; returns its results and the copies."""

    def __init__(self) -> None:
        super().__init__("etlab_functionally")  # type: ignore[no-untyped-call]  # torch's

    def __call__(self, operator: OpOverload, *args: Any) -> tuple[Any, ...]:
        given = list(args)
        for place in written_places(operator):
            if given[place] is not None:
                given[place] = given[place].clone()
        arguments = operator._schema.arguments
        positional = [v for v, a in zip(given, arguments, strict=True) if not a.kwarg_only]
        keywords = {a.name: v for v, a in zip(given, arguments, strict=True) if a.kwarg_only}
        returned = operator(*positional, **keywords)
        results = returned if isinstance(returned, tuple | list) else (returned,)
        fresh = [
            result
            for result, described in zip(results, operator._schema.returns, strict=False)
            if described.alias_info is None
        ]
        return (*fresh, *(given[place] for place in written_places(operator)))


functionally = _Functionally()


@cache
def written_places(operator: OpOverload) -> tuple[int, ...]:
    """Positions of the arguments that an operator writes."""
    return tuple(
        place
        for place, argument in enumerate(operator._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )


@cache
def why_not_in_place(operator: OpOverload) -> str | None:
    """Why a program cannot call a user's operator that writes its arguments; None when it can."""
    if not is_custom_namespace(operator.namespace) and operator.namespace not in _WRITING:
        return "it is no operator of yours"
    arguments = operator._schema.arguments
    for argument in (arguments[place] for place in written_places(operator)):
        if "List" in str(argument.type):
            return f"it writes the list '{argument.name}': pass its tensors one by one"
    aliases = {result.alias_info is not None for result in operator._schema.returns}
    if len(aliases) == 2:
        return "it returns an argument beside new tensors: return the new ones only"
    return why_not_returned(operator)


@cache
def why_not_returned(operator: OpOverload) -> str | None:
    """Why no kernel can write what a user's operator returns; None when one can."""
    results = operator._schema.returns
    types = [str(result.type) for result in results]
    if not results and not operator._schema.is_mutable:
        return "it returns nothing and writes nothing: return a tensor"
    for result, kind in zip(results, types, strict=True):
        if kind not in ("Tensor", "List[Tensor]"):
            return f"it returns {kind}: return tensors only, a number as one of size ()"
        if result.alias_info is not None and not result.alias_info.is_write:
            return "it returns a view of an argument: return a copy"
    if len(types) > 1 and "List[Tensor]" in types:
        return "it returns a list beside other results: return one list, or tensors one by one"
    return None


def way_out(operator: Any) -> str | None:
    """What to change of a user's operator that no program can call; None for other operators."""
    if not isinstance(operator, OpOverload) or not is_custom_namespace(operator.namespace):
        return None
    why = why_not_in_place if operator._schema.is_mutable else why_not_returned
    name = synthesize(operator._schema).full_name
    return (
        f"{why(operator)}; then etlab.runtime.register_kernel('{name}', function) gives the program"
        " its kernel"
    )


def _written_state(edge: EdgeGraph, node: fx.Node) -> dict[int, str]:
    """Arguments of a `functionally` call that are state which it may overwrite: place to name.

    Nothing else reads the old value, and what the call makes of it is the state's next value and no
    output.
    """
    operator, *given = node.args
    assert isinstance(operator, OpOverload)
    results: Any = edge.graph.output_node().args[0]
    next_values = {
        result: str(spec.target)
        for spec, result in zip(edge.outputs, results, strict=True)
        if spec.kind is OutputKind.BUFFER_MUTATION and results.count(result) == 1
    }
    targets = state_targets(edge)
    places = [place for place in written_places(operator) if given[place] is not None]
    first = len(node.meta["val"]) - len(places)
    made = {user.args[1]: user for user in node.users}
    return {
        place: old.name
        for index, place in enumerate(places)
        if isinstance(old := given[place], fx.Node)
        and old.op == "placeholder"
        and list(old.users) == [node]
        and next_values.get(made.get(first + index)) == targets.get(old.name, "")
    }


def in_place_calls(
    edge: EdgeGraph, node: fx.Node, arguments: list[Any], results: list[Value]
) -> list[Call]:
    """The calls of a `functionally` node: copies of what is written, then the operator.

    Args:
        edge: the method that is scheduled.
        node: the call.
        arguments: the operator's, as values; what is written becomes the copies.
        results: of the node, as values; a state that is overwritten stands for its new value.
    """
    operator: Any = node.args[0]
    overwritten = _written_state(edge, node)
    places = [place for place in written_places(operator) if arguments[place] is not None]
    fresh = results[: len(results) - len(places)]
    calls: list[Call] = []
    for index, place in enumerate(places, len(fresh)):
        old, new = arguments[place], results[index]
        if place in overwritten and old.role is Role.STATE and old.spec.is_contiguous:
            results[index] = old
        else:
            assert new.spec is not None
            copied = [old, False, list(new.spec.dim_order), new]
            # No node: what it makes is not yet the node's result.
            calls.append(Call(CLONE_DIM_ORDER, copied, [new], may_be_view=False))
            arguments[place] = new
    variant = synthesize(operator._schema)
    remaining = list(fresh)
    for argument in variant.arguments[len(arguments) :]:
        arguments.append(remaining if argument.is_list else remaining.pop(0))
    calls.append(Call(variant, arguments, results, node))
    return calls
