"""An exported module in the form that the rules know; every step keeps what the model computes."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from etlab.quantize.pt2e.constants import constant_of, new_constant, state_of
from etlab.quantize.pt2e.rules import (
    ARITHMETIC,
    CONVOLUTIONS,
    LINEAR,
    NORMS,
    TRANSPOSED,
    is_quantizable,
)

aten = torch.ops.aten

# Operators whose input and result may be the same memory.
_VIEWS = (
    aten.alias.default,
    aten.chunk.default,
    aten.contiguous.default,
    aten.detach.default,
    aten.expand.default,
    aten.flatten.using_ints,
    aten.permute.default,
    aten.reshape.default,
    aten.select.int,
    aten.slice.Tensor,
    aten.split.Tensor,
    aten.split_with_sizes.default,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.t.default,
    aten.transpose.int,
    aten.unbind.int,
    aten.unsqueeze.default,
    aten.view.default,
)
_SPLITS = (aten.chunk.default, aten.split.Tensor, aten.split_with_sizes.default, aten.unbind.int)
_OUT_OF_PLACE = {
    aten.add_.Tensor: aten.add.Tensor,
    aten.elu_.default: aten.elu.default,
    aten.hardtanh_.default: aten.hardtanh.default,
    aten.leaky_relu_.default: aten.leaky_relu.default,
    aten.mul_.Tensor: aten.mul.Tensor,
    aten.relu6_.default: aten.relu6.default,
    aten.relu_.default: aten.relu.default,
    aten.sigmoid_.default: aten.sigmoid.default,
    aten.sub_.Tensor: aten.sub.Tensor,
    aten.tanh_.default: aten.tanh.default,
}


def clean(model: fx.GraphModule, is_wanted: Callable[[fx.Node], bool]) -> fx.GraphModule:
    """Bring a module into form, in place.

    Args:
        model: of `torch.export.export(...).module()`.
        is_wanted: whether a node is to be quantized with scales that are fixed beforehand: only
            there do numbers become tensors.
    """
    changed = _leave_memory_alone(model.graph)
    changed |= _numbers_as_tensors(model, is_wanted)
    changed |= _parts_as_slices(model.graph, is_wanted)
    if changed:
        model.graph.eliminate_dead_code()
        model.recompile()
    return model


def _leave_memory_alone(graph: fx.Graph) -> bool:
    """Turn activations and sums that overwrite a result into those that make a new one."""
    changed = False
    places = {node: place for place, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        target: Any = node.target
        if target not in _OUT_OF_PLACE or not _owns_memory(node.args[0], node):
            continue
        source: Any = node.args[0]
        node.target = _OUT_OF_PLACE[target]
        later = [user for user in source.users if places[user] > places[node]]
        for user in later:
            user.replace_input_with(source, node)
        changed = True
    return changed


def _owns_memory(source: Any, writer: fx.Node) -> bool:
    """Whether nobody but `source` sees what is written into it."""
    if source.op != "call_function" or source.target in _VIEWS:
        return False
    return not any(user.target in _VIEWS for user in source.users if user is not writer)


def _numbers_as_tensors(model: fx.GraphModule, is_wanted: Callable[[fx.Node], bool]) -> bool:
    """Make the number in `x * 0.5` a constant, which can have a scale."""
    changed = False
    for node in list(model.graph.nodes):
        if node.target not in ARITHMETIC or not is_quantizable(node) or not is_wanted(node):
            continue
        other = node.args[1]
        if not isinstance(other, int | float) or not is_quantizable(node.args[0]):
            continue
        constant = new_constant(model, torch.tensor(float(other)), "_number", node)
        node.args = (node.args[0], constant, *node.args[2:])
        changed = True
    return changed


def _parts_as_slices(graph: fx.Graph, is_wanted: Callable[[fx.Node], bool]) -> bool:
    """Take the parts of a split one by one: the list that it makes cannot be observed."""
    changed = False
    for split in list(graph.nodes):
        if split.target not in _SPLITS or not is_wanted(split):
            continue
        source, dim = split.args[0], _split_dim(split)
        parts = split.meta["val"]
        if split.target is not aten.unbind.int and not all(
            isinstance(part.shape[dim], int) for part in parts
        ):
            continue
        starts = itertools.accumulate((_length(part, split, dim) for part in parts), initial=0)
        for index, (start, part) in enumerate(zip(starts, parts, strict=False)):
            for user in [u for u in split.users if u.args[1] == index]:
                with graph.inserting_before(user):
                    if split.target is aten.unbind.int:
                        new = graph.call_function(aten.select.int, (source, dim, index))
                    else:
                        end = start + part.shape[dim]
                        new = graph.call_function(aten.slice.Tensor, (source, dim, start, end))
                new.meta = dict(user.meta)
                user.replace_all_uses_with(new)
                graph.erase_node(user)
        graph.erase_node(split)
        changed = True
    return changed


def _split_dim(split: fx.Node) -> int:
    source: Any = split.args[0]
    place = 1 if split.target is aten.unbind.int else 2
    dim: Any = split.args[place] if len(split.args) > place else split.kwargs.get("dim", 0)
    rank: int = source.meta["val"].dim()
    return int(dim) % rank


def _length(part: torch.Tensor, split: fx.Node, dim: int) -> int:
    return 1 if split.target is aten.unbind.int else part.shape[dim]


def fold_batch_norms(model: fx.GraphModule) -> fx.GraphModule:
    """Scale weights and biases instead of results, in place.

    Only where the layer's result goes nowhere else and the norm's axis is the layer's output
    channel. Folded weights are new tensors, so layers that share one each get their own.
    """
    changed, state = False, state_of(model.graph)
    for norm in list(model.graph.nodes):
        if norm.target in NORMS and not norm.args[5]:
            changed |= _fold(model, norm, state)
    if changed:
        model.graph.eliminate_dead_code()
        model.delete_all_unused_submodules()
        model.recompile()
    return model


def _fold(model: fx.GraphModule, norm: fx.Node, state: set[str]) -> bool:
    layer: Any = norm.args[0]
    if layer.target not in (*LINEAR, *CONVOLUTIONS, *TRANSPOSED) or len(layer.users) != 1:
        return False
    is_channel_axis = layer.target not in LINEAR or layer.meta["val"].dim() == 2
    bias = layer.args[2] if len(layer.args) > 2 else None
    needed = [layer.args[1], bias, *norm.args[1:5]]
    read = [node for node in needed if node is not None]
    if not is_channel_axis or any(n.op != "get_attr" or str(n.target) in state for n in read):
        return False
    weight, offset, *rest = (None if n is None else constant_of(model, n).double() for n in needed)
    gamma, beta, mean, variance = rest
    assert weight is not None
    assert mean is not None
    assert variance is not None
    epsilon: Any = norm.args[7]
    scale = torch.rsqrt(variance + epsilon)  # (channels,)
    scale = scale if gamma is None else scale * gamma
    offset = ((0 if offset is None else offset) - mean) * scale + (0 if beta is None else beta)
    dtype = constant_of(model, layer.args[1]).dtype
    scaled = scale_weight(layer, weight, scale).to(dtype)
    name = str(layer.args[1].target).replace(".", "_")
    new_weight = new_constant(model, scaled, f"{name}_folded", layer)
    new_bias = new_constant(model, offset.to(dtype), f"{name}_folded_bias", layer)
    layer.args = (layer.args[0], new_weight, new_bias, *layer.args[3:])
    norm.replace_all_uses_with(layer)
    model.graph.erase_node(norm)
    return True


def scale_weight(layer: fx.Node, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """A layer's weight with every output channel times its element of `scale`, (channels,)."""
    rest = [1] * (weight.dim() - 2)
    if layer.target not in TRANSPOSED:  # (out, in / groups, ...)
        return weight * scale.reshape(-1, 1, *rest)
    groups: Any = layer.args[6] if len(layer.args) > 6 else 1  # (in, out / groups, ...)
    grouped = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    return (grouped * scale.reshape(groups, 1, -1, *rest)).reshape(weight.shape)
