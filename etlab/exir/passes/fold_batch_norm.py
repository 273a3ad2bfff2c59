"""Fold an inference batch norm into the convolution or linear layer before it."""

import operator
from typing import Any

import torch
from torch import fx

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import NewConstants, constant_placeholders, provenance, replace
from etlab.exir.passes.base import Pass, PassResult

aten = torch.ops.aten

_FOLDABLE = (aten.convolution.default, aten.linear.default)


class FoldBatchNorm(Pass):
    """Scale weight and bias instead of every result.

    Before: `batch_norm(convolution(x, w, b), gamma, beta, mean, var)`
    After: `convolution(x, w * s, (b - mean) * s + beta)` with `s = gamma / sqrt(var + eps)`

    Only where the layer's result goes nowhere else, all tensors are constants, and the norm's axis
    is the layer's output channel. Folded weights are new tensors, so layers that share one each
    get their own.
    """

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        constants = constant_placeholders(graph)
        added = NewConstants(graph)
        changed = False
        for node in graph.graph.nodes:
            if node.target is aten._native_batch_norm_legit_no_training.default:
                changed = _fold(graph, node, constants, added) or changed
        added.finish()
        return PassResult(graph, changed)


def _fold(
    graph: EdgeGraph,
    norm: fx.Node,
    constants: dict[fx.Node, torch.Tensor],
    added: NewConstants,
) -> bool:
    layer: Any = norm.args[0]
    uses = list(norm.users)
    only_result = len(uses) == 1 and uses[0].target is operator.getitem and uses[0].args[1] == 0
    if layer.target not in _FOLDABLE or len(layer.users) != 1 or not only_result:
        return False
    if not _is_channel_axis(layer):
        return False
    arguments: list[Any] = list(norm.args[1:5])
    bias = layer.args[2] if len(layer.args) > 2 else None
    needed = [layer.args[1], bias, *arguments]
    if any(a is not None and a not in constants for a in needed):
        return False
    weight = constants[layer.args[1]]
    gamma, beta, mean, var = (None if a is None else constants[a].double() for a in arguments)
    assert mean is not None
    assert var is not None
    eps: Any = norm.args[6]
    scale = torch.rsqrt(var + eps)  # (channels,)
    scale = scale if gamma is None else scale * gamma
    offset = (constants[bias].double() if bias is not None else 0) - mean
    offset = offset * scale + (beta if beta is not None else 0)
    source = layer.args[1]
    name = source.name
    new_weight = added.add(f"{name}_folded", _scaled(layer, weight, scale.to(weight.dtype)), source)
    new_bias = added.add(f"{name}_folded_bias", offset.to(weight.dtype), source)
    layer.args = (layer.args[0], new_weight, new_bias, *layer.args[3:])
    merged = (*layer.meta.get("merged_from", ()), layer.meta.get("from_node", layer.name))
    layer.meta = {**layer.meta, **provenance(norm), "merged_from": merged}
    replace(uses[0], layer)
    graph.graph.erase_node(norm)
    return True


def _is_channel_axis(layer: fx.Node) -> bool:
    """Whether axis 1, which the norm works on, is the layer's output channel."""
    rank: int = layer.meta["val"].dim()
    return layer.target is aten.convolution.default or rank == 2


def _scaled(layer: fx.Node, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    is_transposed = layer.target is aten.convolution.default and bool(layer.args[6])
    rest = [1] * (weight.dim() - 2)
    if not is_transposed:  # (out, in / groups, ...)
        return weight * scale.reshape(-1, 1, *rest)
    groups: Any = layer.args[8]  # (in, out / groups, ...)
    grouped = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    return (grouped * scale.reshape(groups, 1, -1, *rest)).reshape(weight.shape)
