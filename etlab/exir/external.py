"""Which constants of a method are stored outside of its program, as the user's options say."""

from collections.abc import Callable
from itertools import chain
from typing import Any

from torch import fx
from torch.export.graph_signature import OutputKind

from etlab.errors import InvalidArgumentError
from etlab.exir.edge import EdgeGraph
from etlab.exir.ops import CLONE_DIM_ORDER
from etlab.exir.schedule import Call, Role, Schedule, Value

DEFAULT_TAG = "_default_external_constant"  # ExecuTorch's name of the file
_LIFTED = "_lifted_tensor"  # constants of the code, which stay with the code

ExternalConstants = bool | Callable[[fx.Node], str | None]


def mark_external(
    schedule: Schedule, graph: EdgeGraph, chosen: ExternalConstants, *, mutable_weights: bool
) -> None:
    """Note in each constant which file holds it, in place.

    Args:
        schedule: before layouts and views are settled.
        graph: what it was made of.
        chosen: all constants, none, or a function from a placeholder to a file's name or None.
        mutable_weights: store the parameters that the graph returns gradients of, too.

    Raises:
        InvalidArgumentError: the function returns something else.
    """
    trained: set[Any] = set()
    if mutable_weights:
        kind = OutputKind.GRADIENT_TO_PARAMETER
        trained = {spec.target for spec in graph.outputs if spec.kind is kind}
    if not chosen and not trained:
        return
    tags: dict[fx.Node, str | None] = {}
    outputs = (output for output in schedule.outputs if isinstance(output, Value))
    for value in chain((value for call in schedule.calls for value in call.values()), outputs):
        node = value.root.node
        if value.role is not Role.CONSTANT or node is None or node.op != "placeholder":
            continue
        if node not in tags:
            tags[node] = _tag_of(node, chosen)
            if value.target in trained:
                tags[node] = tags[node] or DEFAULT_TAG
        value.external_tag = tags[node]
    _copy_outputs(schedule)


def _copy_outputs(schedule: Schedule) -> None:
    """Return copies of external constants, in place.

    ExecuTorch's Python module takes an output without a place in the file for one that the caller
    gives memory to, and would replace the constant by zeros.
    """
    copies: dict[Value, Value] = {}
    for index, output in enumerate(schedule.outputs):
        if not isinstance(output, Value) or output.external_tag is None:
            continue
        if output not in copies:
            assert output.spec is not None
            name = f"{output.name}_returned"
            copy = copies[output] = Value(name, Role.RESULT, output.spec, node=output.node)
            arguments = [output, False, list(output.spec.dim_order), copy]
            # In front, since writes of state are all that may stand at a method's end.
            schedule.calls.insert(0, Call(CLONE_DIM_ORDER, arguments, [copy], output.node))
        schedule.outputs[index] = copies[output]


def _tag_of(node: fx.Node, chosen: ExternalConstants) -> str | None:
    if not chosen or _LIFTED in node.name:
        return None
    if not callable(chosen):
        return DEFAULT_TAG
    tag = chosen(node)
    if tag is not None and (not isinstance(tag, str) or tag != tag.strip("./ ") or not tag):
        raise InvalidArgumentError(
            f"external_constants gave {tag!r} for '{node.name}'; it must return a file name such as"
            " 'weights', or None to keep the constant in the program"
        )
    if tag is not None and ("/" in tag or "\\" in tag or "\0" in tag):
        raise InvalidArgumentError(
            f"external_constants gave {tag!r} for '{node.name}'; a file name has no separators, the"
            " folder is chosen when the files are written"
        )
    return None if tag is None else tag.removesuffix(".ptd")
