"""Quantize and dequantize nodes that cost time and rounding for nothing."""

from collections.abc import Iterator
from typing import Any

from torch import fx

from etlab.exir.edge import EdgeGraph
from etlab.exir.partition.delegate import LoweredModule, executorch_call_delegate
from etlab.exir.provenance import operator_of, values_of
from etlab.inspect.costs import bytes_at_example
from etlab.inspect.lint.base import Finding, Rule, Subject, finding_at

_QUANTIZE = ("quantized_decomposed::quantize_", "torchao::quantize_")
_DEQUANTIZE = ("quantized_decomposed::dequantize_", "torchao::dequantize_")


def check_dangling(subject: Subject) -> Iterator[Finding]:
    """Pairs, and dequantized weights, that our own kernels run in float."""
    for node in subject.graph.graph.nodes:
        if not _is(node, _DEQUANTIZE) or _feeds_delegate(node):
            continue
        source = node.args[0]
        if not isinstance(source, fx.Node):
            continue
        if source.op == "placeholder" and not _is_user_input(subject.graph, source):
            yield finding_at(
                DANGLING.name,
                subject,
                node,
                f"the weight '{source.name}' is dequantized in every run, and computed with in"
                " float",
                "delegate the operator that uses it (run.delegation() says why it was left out), or"
                " do not quantize it",
                _nbytes(node),
            )
        elif _is(source, _QUANTIZE) and all(_is(user, _DEQUANTIZE) for user in source.users):
            yield finding_at(
                DANGLING.name,
                subject,
                node,
                f"{source.name} and {node.name} round to integers and back; what follows computes"
                " in float",
                "delegate the operators around the pair, or leave them out of the quantization"
                " (set_module_name(..., None) on the quantizer)",
                _nbytes(node),
            )


def check_requantization(subject: Subject) -> Iterator[Finding]:
    """Values that go from integers to float and to integers again without being computed with."""
    for graph in _graphs(subject.graph):
        for node in graph.graph.nodes:
            source = node.args[0] if _is(node, _QUANTIZE) and node.args else None
            if not isinstance(source, fx.Node) or not _is(source, _DEQUANTIZE):
                continue
            before, after = _parameters(source), _parameters(node)
            if before is None or after is None:
                continue
            if before == after:
                text = f"{source.name} and {node.name} undo each other"
                remedy = "remove the pair: give both sides one observer in the quantizer"
            else:
                text = (
                    f"requantized from scale {before[0]:.6g}, zero point {before[1]} to scale"
                    f" {after[0]:.6g}, zero point {after[1]}, which rounds twice"
                )
                remedy = (
                    "share the parameters of the two sides (SharedQuantizationSpec), as views,"
                    " concatenations and pools should"
                )
            yield finding_at(REQUANTIZATION.name, subject, node, text, remedy, _nbytes(node))


def is_quantization(node: fx.Node) -> bool:
    """Whether a node quantizes or dequantizes."""
    return _is(node, _QUANTIZE) or _is(node, _DEQUANTIZE)


def _is(node: Any, prefixes: tuple[str, ...]) -> bool:
    return (
        isinstance(node, fx.Node)
        and node.op == "call_function"
        and operator_of(node).startswith(prefixes)
    )


def _feeds_delegate(node: fx.Node) -> bool:
    return any(user.target is executorch_call_delegate for user in node.users)


def _is_user_input(graph: EdgeGraph, placeholder: fx.Node) -> bool:
    places = [node for node in graph.graph.nodes if node.op == "placeholder"]
    return graph.inputs[places.index(placeholder)].target is None


def _parameters(node: fx.Node) -> tuple[float, int] | None:
    """Scale and zero point; None when they are computed, or one for each channel."""
    if len(node.args) < 3:
        return None
    scale, zero_point = node.args[1], node.args[2]
    if isinstance(scale, int | float) and isinstance(zero_point, int | float):
        return float(scale), int(zero_point)
    return None


def _graphs(graph: EdgeGraph) -> Iterator[EdgeGraph]:
    """The graph, bodies in it, and what delegates were given."""
    yield graph
    for part in graph.submodules.values():
        if isinstance(part, LoweredModule):
            yield from _graphs(part.original)
        elif isinstance(part, EdgeGraph):
            yield from _graphs(part)


def _nbytes(node: fx.Node) -> int | None:
    sizes = [bytes_at_example(value) for value in values_of(node)]
    return None if None in sizes else sum(size or 0 for size in sizes)


DANGLING = Rule(
    "dangling-quantization", "values rounded to integers that are computed with in float",
    check_dangling,
)  # fmt: skip
REQUANTIZATION = Rule(
    "requantization", "integers that become other integers by way of float", check_requantization
)
