"""Quantized graphs in the form that OpenVINO's front end reads.

It takes `quantize` for a rounding of floats to a grid (its FakeQuantize) and passes over
`dequantize`: everything between is a float there, and its compiler finds the integers again. So
constants must come as floats that are quantized in the graph, and where integers cross the
delegate's border they are converted by arithmetic.
"""

from typing import Any

import torch
from torch import fx

from etlab.exir.edge import EdgeGraph
from etlab.exir.fakes import fake
from etlab.exir.graph import (
    call_before,
    constant_placeholders,
    copy_edge_graph,
    rename_outputs,
    state_targets,
)

# By name: torchao registers them when it is imported.
_QUANTIZE = (
    "quantized_decomposed.quantize_per_tensor.default",
    "quantized_decomposed.quantize_per_channel.default",
)
_DEQUANTIZE = tuple(name.replace(".quantize", ".dequantize") for name in _QUANTIZE)

_aten = torch.ops.aten
# What may stand between a quantize and its dequantize: elements are moved, none is computed.
MOVES = (
    _aten.cat.default,
    _aten.clone.default,
    _aten.expand_copy.default,
    _aten.permute_copy.default,
    _aten.select_copy.int,
    _aten.slice_copy.Tensor,
    _aten.squeeze_copy.dims,
    _aten.unsqueeze_copy.default,
    _aten.view_copy.default,
)


def is_grid(node: fx.Node) -> bool:
    """Whether a value stands for floats on a grid: made by a quantize, moved or not."""
    if node.target in MOVES:
        return all(is_grid(source) for source in node.all_input_nodes)
    return str(node.target) in _QUANTIZE


def may_read_grid(node: fx.Node) -> bool:
    """Whether a call takes values on a grid: a dequantize, or it only moves elements."""
    return node.target in MOVES or str(node.target) in _DEQUANTIZE


def as_floats(edge: EdgeGraph) -> EdgeGraph:
    """A copy of a subgraph in that form."""
    copied = copy_edge_graph(edge)
    constants = constant_placeholders(copied)
    targets = state_targets(copied)
    for node in list(copied.graph.nodes):
        source = node.args[0] if str(node.target) in _DEQUANTIZE else None
        if not isinstance(source, fx.Node) or is_grid(source):
            continue
        if source in constants:
            _quantize_constant(copied, node, source, targets[source.name], constants)
        else:
            _dequantize_by_arithmetic(node)
    for result in copied.graph.output_node().all_input_nodes:
        if is_grid(result):
            _to_integers(copied, result)
    rename_outputs(copied)
    return copied


def _quantize_constant(
    edge: EdgeGraph, node: fx.Node, source: fx.Node, target: str, constants: dict[fx.Node, Any]
) -> None:
    """`dequantize(constant)` becomes `dequantize(quantize(its floats))`: the same numbers."""
    called: Any = node.target
    arguments = [constants.get(a, a) if isinstance(a, fx.Node) else a for a in node.args]
    tensor = edge.tensors[target]
    if not tensor.is_floating_point():
        edge.tensors[target] = called(*arguments, **node.kwargs)
        source.meta["val"] = fake(node.meta["val"].fake_mode, tensor.shape, torch.float32)
    if tensor.dtype is torch.int32:  # a bias: finer than any grid that OpenVINO has
        node.replace_all_uses_with(source)
        edge.graph.erase_node(node)
        return
    place = _DEQUANTIZE.index(str(called))
    opposite = getattr(torch.ops.quantized_decomposed, _QUANTIZE[place].split(".")[1]).default
    quantized = call_before(node, opposite, node.args, dict(node.kwargs))
    node.args = (quantized, *node.args[1:])


def _dequantize_by_arithmetic(node: fx.Node) -> None:
    """Integers come in: (q - zero point) x scale."""
    scale, zero_point = _broadcasting(node, node)
    floats = call_before(node, _aten._to_copy.default, node.args[:1], {"dtype": torch.float32})
    shifted = call_before(node, _aten.sub.Tensor, (floats, zero_point))
    result = call_before(node, _aten.mul.Tensor, (shifted, scale))
    node.replace_all_uses_with(result)
    node.graph.erase_node(node)


def _to_integers(edge: EdgeGraph, result: fx.Node) -> None:
    """Floats on a grid go out: x / scale + zero point, which is whole but for rounding."""
    origin = result
    while origin.target in MOVES:
        origin = origin.all_input_nodes[0]
    output = edge.graph.output_node()
    scale, zero_point = _broadcasting(origin, output)
    scaled = call_before(output, _aten.div.Tensor, (result, scale))
    whole = call_before(output, _aten.round.default, (scaled,))
    shifted = call_before(output, _aten.add.Tensor, (whole, zero_point))
    integers = call_before(
        output, _aten._to_copy.default, (shifted,), {"dtype": result.meta["val"].dtype}
    )
    output.replace_input_with(result, integers)


def _broadcasting(node: fx.Node, before: fx.Node) -> tuple[Any, Any]:
    """Scale and zero point of a quantize or dequantize: numbers, or tensors along its axis."""
    _, scale, zero_point, axis, *_ = node.args
    if not isinstance(scale, fx.Node):
        return scale, zero_point
    sizes = [-1 if dim == axis else 1 for dim in range(node.meta["val"].dim())]
    scale = call_before(before, _aten.view_copy.default, (scale, sizes))
    zero_point = call_before(before, _aten.view_copy.default, (zero_point, sizes))
    to_float = {"dtype": torch.float32}
    return scale, call_before(before, _aten._to_copy.default, (zero_point,), to_float)
