"""The operators of an exported program, each with what a quantized program has of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from etlab.exir.graph import is_getitem
from etlab.exir.provenance import module_of, operator_of, source_line

QUANTIZE = "quantized_decomposed.quantize_per_tensor.default"
DEQUANTIZE = "quantized_decomposed.dequantize_per_tensor.default"
_DEQUANTIZE_ROWS = (
    "quantized_decomposed.dequantize_per_tensor.tensor",
    "quantized_decomposed.dequantize_per_token.default",
    "torchao.dequantize_affine.default",
)
_CONVERSIONS = (QUANTIZE, DEQUANTIZE)
# What exported programs hold besides operators on tensors.
_NO_OPERATORS = ("_assert", "sym_constrain", "sym_size", "_guards")


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of the exported program.

    Attributes:
        name: its node.
        kind: the operator, such as `conv2d`.
        module: the module it belongs to.
        source: `file.py:12`.
        line: the text of that line.
        chain: nodes of the program that was lowered that hold its value, the last one as others
            see it; empty where there is none.
        folded_into: the operator whose value the step that was made of it computes; empty for most.
    """

    name: str
    kind: str
    module: str
    source: str
    line: str
    chain: tuple[str, ...]
    folded_into: str = ""


def operators_of(
    exported: ExportedProgram, quantized: ExportedProgram | None
) -> tuple[Operator, ...]:
    """The operators of an exported program, each with the quantized program's nodes."""
    calls = [node for node in exported.graph.nodes if is_operator(node)]
    found: dict[str, tuple[str, ...]] = {
        node.name: tuple(one.name for one in _with_conversions(node)) for node in calls
    }
    folded: dict[str, str] = {}
    if quantized is not None:
        found, folded = _chains(calls, quantized.graph)
    return tuple(
        Operator(
            node.name,
            operator_of(node),
            module_of(node),
            *source_line(node),
            found.get(node.name, ()),
            folded.get(node.name, ""),
        )
        for node in calls
    )


def reads_quantized_rows(node: fx.Node) -> bool:
    """Whether an operator works on what was quantized with scales found at run time."""
    return any(str(source.target) in _DEQUANTIZE_ROWS for source in node.all_input_nodes)


def is_operator(node: fx.Node) -> bool:
    """Whether a node computes a tensor that is worth comparing."""
    if node.op != "call_function" or is_getitem(node):
        return False
    if any(word in str(node.target) for word in _NO_OPERATORS):
        return False
    return isinstance(value_of(node), torch.Tensor)


def value_of(node: fx.Node) -> Any:
    """The fake tensor of a node, the first of several."""
    value = node.meta.get("val")
    return value[0] if isinstance(value, list | tuple) and value else value


def origin_of(node: fx.Node) -> str | None:
    """The exported program's node that a node of a later export came from; None if unknown."""
    sources = node.meta.get("from_node")
    if not isinstance(sources, list) or not sources:
        return None
    source = sources[-1]
    while source.from_node:
        source = source.from_node[-1]
    return str(source.name)


def _chains(
    calls: Sequence[fx.Node], graph: fx.Graph
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """The quantized program's nodes that hold the values of the exported program's.

    Returns:
        Those by operator; and which operators were folded into which others.
    """
    known = {node.name for node in calls}
    last: dict[str, fx.Node] = {}
    for node in graph.nodes:
        if node.op != "call_function" or str(node.target) in _CONVERSIONS:
            continue
        origin = origin_of(node)
        if origin in known and isinstance(value_of(node), torch.Tensor):
            last[str(origin)] = node
    if not last:
        last = _by_place(calls, graph)
    folded = _take_folded(calls, last)
    chains = {
        name: tuple(one.name for one in _with_conversions(node)) for name, node in last.items()
    }
    return chains, folded


def _by_place(calls: Sequence[fx.Node], graph: fx.Graph) -> dict[str, fx.Node]:
    """Counterparts in a program that was exported anew, by module, operator and order."""

    def places(nodes: Sequence[fx.Node]) -> dict[tuple[str, str, int], fx.Node]:
        counts: dict[tuple[str, str], int] = {}
        found = {}
        for node in nodes:
            key = (module_of(node).removeprefix("model").strip("."), operator_of(node))
            counts[key] = counts.get(key, 0) + 1
            found[(*key, counts[key])] = node
        return found

    others = places([node for node in graph.nodes if is_operator(node)])
    return {
        node.name: others[place]
        for place, node in places(calls).items()
        if place in others and _are_alike(value_of(others[place]).shape, value_of(node).shape)
    }


def _are_alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two shapes may be equal; symbols of two programs have nothing in common."""
    return len(one) == len(other) and all(
        left == right
        for left, right in zip(one, other, strict=True)
        if isinstance(left, int) and isinstance(right, int)
    )


def _take_folded(calls: Sequence[fx.Node], last: dict[str, fx.Node]) -> dict[str, str]:
    """Give an operator without a counterpart that of its input, where it was folded into that.

    A batch norm is: the quantized program's convolution computes the norm's value.

    Returns:
        The inputs that lost theirs, to the operator that got it.
    """
    folded: dict[str, str] = {}
    for node in calls:
        sources = [source for source in node.all_input_nodes if is_operator(source)]
        if node.name in last or len(sources) != 1:
            continue
        source = sources[0]
        counterpart = last.get(source.name)
        if counterpart is None or len(source.users) != 1:
            continue
        if value_of(source).shape == value_of(node).shape:
            last[node.name] = counterpart
            del last[source.name]
            folded[source.name] = node.name
    return folded


def _with_conversions(node: fx.Node) -> Iterator[fx.Node]:
    """A node, the quantization behind it, the dequantization behind that; or its first result."""
    yield node
    if isinstance(node.meta.get("val"), list | tuple):
        yield from [user for user in node.users if is_getitem(user) and user.args[1] == 0][:1]
        return
    quantizes = [user for user in node.users if str(user.target) == QUANTIZE]
    if len(quantizes) == 1:
        yield quantizes[0]
        dequantizes = [user for user in quantizes[0].users if str(user.target) == DEQUANTIZE]
        if dequantizes:
            yield dequantizes[0]
