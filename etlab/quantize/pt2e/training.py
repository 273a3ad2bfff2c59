"""Batch norms in quantization-aware training: weights are quantized as they will be folded.

Krishnamoorthi, arXiv 1806.08342, section 3.2.2: the layer computes with weights that are scaled by
the running statistics, its result is scaled back, and the norm works on the batch as usual.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from etlab.quantize.pt2e.cleaning import scale_weight
from etlab.quantize.pt2e.constants import constant_of, new_constant
from etlab.quantize.pt2e.rules import ANNOTATION, NORMS, PRODUCTS, TRANSPOSED

aten = torch.ops.aten

_ROLE = "etlab_training_role"


def scale_weights_for_norms(model: fx.GraphModule) -> None:
    """Rewrite every annotated layer with a batch norm behind it, in place.

    Before: `norm(layer(x, w, b))`
    After: `norm(layer(x, w * s) / s + b)` with `s = gamma / sqrt(running variance + eps)`
    """
    for norm in list(model.graph.nodes):
        if norm.target not in NORMS or not norm.args[5] or None in norm.args[1:5]:
            continue
        layer: Any = norm.args[0]
        is_layer = layer.target in PRODUCTS and ANNOTATION in layer.meta
        if is_layer and len(layer.users) == 1 and layer.args[1].op == "get_attr":
            _rewrite(model.graph, layer, norm)


def _rewrite(graph: fx.Graph, layer: fx.Node, norm: fx.Node) -> None:
    weight: Any = layer.args[1]
    bias: Any = layer.args[2] if len(layer.args) > 2 else None
    rank = weight.meta["val"].dim()
    along_weight = [1] * rank
    along_weight[1 if layer.target in TRANSPOSED else 0] = -1
    along_result = [1, -1, *[1] * (layer.meta["val"].dim() - 2)]
    with graph.inserting_before(layer):
        variance = graph.call_function(aten.add.Tensor, (norm.args[4], norm.args[7]))
        inverse = graph.call_function(aten.rsqrt.default, (variance,))
        scale = graph.call_function(aten.mul.Tensor, (inverse, norm.args[1]))
        shaped = graph.call_function(aten.view.default, (scale, along_weight))
        scaled = graph.call_function(aten.mul.Tensor, (weight, shaped))
        scaled.meta = {"val": weight.meta["val"]}
        back = graph.call_function(aten.view.default, (scale, along_result))
    specs = layer.meta[ANNOTATION].input_qspec_map
    specs[scaled] = specs.pop(weight)
    layer.args = (layer.args[0], scaled, None, *layer.args[3:])
    with graph.inserting_before(norm):
        result = graph.call_function(aten.div.Tensor, (layer, back))
        if bias is not None:
            offset = graph.call_function(aten.view.default, (bias, along_result))
            result = graph.call_function(aten.add.Tensor, (result, offset))
    result.meta = {"val": layer.meta["val"]}
    norm.args = (result, *norm.args[1:])
    norm.meta[_ROLE] = "norm"


def fold_trained_norms(
    model: fx.GraphModule, observer_of: Callable[[fx.GraphModule, Any], Any]
) -> None:
    """Undo the rewriting with the statistics that training has found: the norm goes away.

    Args:
        model: a trained model.
        observer_of: the observer that a node calls, or None.
    """
    for norm in list(model.graph.nodes):
        if norm.meta.get(_ROLE) == "norm":
            _fold(model, norm, observer_of)
    model.graph.eliminate_dead_code()


def _fold(
    model: fx.GraphModule, norm: fx.Node, observer_of: Callable[[fx.GraphModule, Any], Any]
) -> None:
    back: Any = norm.args[0]
    bias = None
    if back.target is aten.add.Tensor:
        back, bias = back.args[0], back.args[1].args[0]
    layer: Any = back.args[0]
    observed = layer.args[1]
    scaled = observed.args[0] if observer_of(model, observed) is not None else observed
    weight: Any = scaled.args[0]
    gamma, beta, mean, variance = (constant_of(model, n).double() for n in norm.args[1:5])  # type: ignore[arg-type]
    epsilon: Any = norm.args[7]
    scale = gamma * torch.rsqrt(variance + epsilon)
    offset = -mean if bias is None else constant_of(model, bias).double() - mean
    value = constant_of(model, weight)
    name = str(weight.target).replace(".", "_")
    folded = scale_weight(layer, value.double(), scale).to(value.dtype)
    new_weight = new_constant(model, folded, f"{name}_folded", scaled)
    new_bias = new_constant(model, (offset * scale + beta).to(value.dtype), f"{name}_bias", layer)
    scaled.replace_all_uses_with(new_weight)
    layer.args = (layer.args[0], layer.args[1], new_bias, *layer.args[3:])
    norm.replace_all_uses_with(layer)
    model.graph.erase_node(norm)
