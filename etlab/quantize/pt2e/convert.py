"""From observers to quantize and dequantize operators, and constants to the integers themselves."""

import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.fx.traceback import NodeSource, NodeSourceAction

from etlab.errors import LoweringError
from etlab.quantize.base import quiet_imports
from etlab.quantize.pt2e.constants import constant_of, drop_unused, new_constant, state_of
from etlab.quantize.pt2e.rules import PRODUCTS
from etlab.quantize.pt2e.training import fold_trained_norms

with quiet_imports():
    from torchao.quantization.pt2e.observer import (
        AffineQuantizedObserverBase,
        _is_activation_post_process,
    )

decomposed = torch.ops.quantized_decomposed
aten = torch.ops.aten

_SYMMETRIC = (torch.per_tensor_symmetric, torch.per_channel_symmetric)
_PER_CHANNEL = (torch.per_channel_symmetric, torch.per_channel_affine)
# Biases are 32-bit integers in steps of input scale times weight scale; half the range is left to
# the sum.
_LARGEST_BIAS = 2.0**30


@dataclass(slots=True)
class _Integers:
    """How an observed value becomes integers.

    Attributes:
        observer: what saw it.
        scale: (1,) or (channels,), float.
        zero_point: of the same size, integers.
    """

    observer: Any
    scale: torch.Tensor
    zero_point: torch.Tensor

    @property
    def is_per_channel(self) -> bool:
        return self.observer.qscheme in _PER_CHANNEL

    @property
    def limits(self) -> tuple[int, int, torch.dtype]:
        return self.observer.quant_min, self.observer.quant_max, self.observer.dtype


def convert_pt2e(model: fx.GraphModule) -> fx.GraphModule:
    """A calibrated or trained model in quantized operators, in place.

    Takes what torchao's `prepare_pt2e` and `prepare_qat_pt2e` in `flow.py` make. Weights and other
    observed constants are stored as integers; batch norms of a training are folded. A weight's
    scale is raised where the layer's bias would not fit into 32 bits, and biases are rounded to the
    steps of such integers, so that PyTorch adds what a device adds.

    Raises:
        LoweringError: an observer saw what no integer stands for.
    """
    called = {str(node.target): node for node in model.graph.nodes if node.op == "call_module"}
    observers = [name for name, node in called.items() if _observer_of(model, node) is not None]
    fold_trained_norms(model, _observer_of)
    _end_dropout(model)
    state = state_of(model.graph)
    observed = {n: o for n in model.graph.nodes if (o := _observer_of(model, n)) is not None}
    chosen = {
        node: _choose(node, observer)
        for node, observer in observed.items()
        if not _is_dynamic(observer) and not isinstance(observer, AffineQuantizedObserverBase)
    }
    for node, weight in chosen.items():
        _make_room_for_biases(model, node, weight, chosen)
    _round_biases(model, chosen)
    for node, observer in observed.items():
        if isinstance(observer, AffineQuantizedObserverBase):
            observer.convert(model, node)
        elif node not in chosen:
            _replace(node, _at_run_time(model.graph, node, observer))
        elif node.args[0].op == "get_attr" and str(node.args[0].target) not in state:
            _replace(node, _constant(model, node, chosen[node]))
        else:
            _replace(node, _fixed(model, node, chosen[node]))
    for name in observers:
        model.delete_submodule(name)
    model.graph.eliminate_dead_code()
    drop_unused(model)
    model.recompile()
    return model


def _observer_of(model: fx.GraphModule, node: Any) -> Any:
    """The observer that a node calls, or None."""
    if not isinstance(node, fx.Node) or node.op != "call_module":
        return None
    module = model.get_submodule(str(node.target))
    return module if _is_activation_post_process(module) else None


def _end_dropout(model: fx.GraphModule) -> None:
    """Remove dropout, and observers behind it of what one before it has observed."""
    for node in [n for n in model.graph.nodes if n.target is aten.dropout.default]:
        source: Any = node.args[0]
        if _observer_of(model, source) is not None:
            for user in [user for user in node.users if _observer_of(model, user) is not None]:
                user.replace_all_uses_with(source)
                model.graph.erase_node(user)
        node.replace_all_uses_with(source)
        model.graph.erase_node(node)


def _is_dynamic(observer: Any) -> bool:
    return bool(getattr(observer, "is_dynamic", False))


def _choose(node: fx.Node, observer: Any) -> _Integers:
    refusal = (
        f"the values of '{node.args[0]}' are infinite or not numbers for a calibration sample,"
        " which no integer stands for: look at the sample, or keep that part in float"
    )
    try:
        scale, zero_point = observer.calculate_qparams()
    except AssertionError as error:  # torchao's, of ranges that are none
        raise LoweringError(refusal) from error
    scale = torch.as_tensor(scale).detach().reshape(-1).float()
    zero_point = torch.as_tensor(zero_point).detach().reshape(-1)
    if not bool((scale.isfinite() & (scale > 0)).all()):
        raise LoweringError(refusal)
    return _Integers(observer, scale, zero_point.to(torch.int64))


def _make_room_for_biases(
    model: fx.GraphModule, node: fx.Node, weight: _Integers, chosen: dict[fx.Node, _Integers]
) -> None:
    """Raise a weight's scales until the biases of the layers that use it fit."""
    if weight.observer.qscheme not in _SYMMETRIC:
        return
    for layer in node.users:
        bias: Any = layer.args[2] if layer.target in PRODUCTS and len(layer.args) > 2 else None
        source = chosen.get(layer.args[0])  # type: ignore[arg-type]
        if bias is None or bias.op != "get_attr" or source is None or layer.args[1] is not node:
            continue
        least = constant_of(model, bias).float().abs() / (source.scale * _LARGEST_BIAS)
        least = least if weight.is_per_channel else least.max().reshape(1)
        weight.scale = torch.maximum(weight.scale, least)


def _round_biases(model: fx.GraphModule, chosen: dict[fx.Node, _Integers]) -> None:
    """Round the biases of layers whose input and weight have fixed scales, each by itself."""
    for layer in [node for node in model.graph.nodes if node.target in PRODUCTS]:
        bias: Any = layer.args[2] if len(layer.args) > 2 else None
        source, weight = chosen.get(layer.args[0]), chosen.get(layer.args[1])
        if bias is None or bias.op != "get_attr" or source is None or weight is None:
            continue
        if weight.observer.qscheme not in _SYMMETRIC or len(source.scale) != 1:
            continue
        step = source.scale * weight.scale
        value = constant_of(model, bias)
        rounded = (torch.round(value.float() * (1 / step)) * step).to(value.dtype)
        name = f"{str(bias.target).replace('.', '_')}_rounded"
        layer.update_arg(2, new_constant(model, rounded, name, layer))


def _constant(model: fx.GraphModule, node: fx.Node, integers: _Integers) -> fx.Node:
    """The stored integers, and their dequantize."""
    source: Any = node.args[0]
    value = constant_of(model, source).float()
    name = str(source.target).replace(".", "_")
    low, high, dtype = integers.limits
    if integers.is_per_channel:
        axis = int(integers.observer.ch_axis)
        parameters: tuple[Any, ...] = (integers.scale, integers.zero_point, axis)
        stored = decomposed.quantize_per_channel(value, *parameters, low, high, dtype)
        scale = new_constant(model, integers.scale, f"{name}_scale", node)
        zero = new_constant(model, integers.zero_point, f"{name}_zero_point", node)
        parameters, target = (scale, zero, axis), decomposed.dequantize_per_channel.default
    else:
        parameters = (float(integers.scale), int(integers.zero_point))
        stored = decomposed.quantize_per_tensor(value, *parameters, low, high, dtype)
        target = decomposed.dequantize_per_tensor.default
    quantized = new_constant(model, stored, f"{name}_int", node)
    with model.graph.inserting_before(node):
        return model.graph.call_function(target, (quantized, *parameters, low, high, dtype))


def _fixed(model: fx.GraphModule, node: fx.Node, integers: _Integers) -> fx.Node:
    """Quantize and dequantize with scales that are known now."""
    low, high, dtype = integers.limits
    graph = model.graph
    if integers.is_per_channel:
        scale = new_constant(model, integers.scale, "channels_scale", node)
        zero = new_constant(model, integers.zero_point, "channels_zero_point", node)
        axis = int(integers.observer.ch_axis)
        rest: tuple[Any, ...] = (scale, zero, axis, low, high, dtype)
        targets = (
            decomposed.quantize_per_channel.default,
            decomposed.dequantize_per_channel.default,
        )
    else:
        rest = (float(integers.scale), int(integers.zero_point), low, high, dtype)
        targets = (decomposed.quantize_per_tensor.default, decomposed.dequantize_per_tensor.default)
    with graph.inserting_before(node):
        quantized = graph.call_function(targets[0], (node.args[0], *rest))
        dequantized = graph.call_function(targets[1], (quantized, *rest))
    _note_origin(node, quantized)
    return dequantized


def _at_run_time(graph: fx.Graph, node: fx.Node, observer: Any) -> fx.Node:
    """Choose, quantize and dequantize."""
    low, high, dtype = observer.quant_min, observer.quant_max, observer.dtype
    is_symmetric = getattr(observer, "qscheme", None) in _SYMMETRIC
    choose = decomposed.choose_qparams_symmetric if is_symmetric else decomposed.choose_qparams
    eps = float(getattr(observer, "eps", torch.finfo(torch.float32).eps))
    with graph.inserting_before(node):
        both = graph.call_function(choose.tensor, (node.args[0], low, high, eps, dtype))
        scale = graph.call_function(operator.getitem, (both, 0))
        zero = graph.call_function(operator.getitem, (both, 1))
        rest = (scale, zero, low, high, dtype)
        quantized = graph.call_function(
            decomposed.quantize_per_tensor.tensor, (node.args[0], *rest)
        )
        dequantized = graph.call_function(
            decomposed.dequantize_per_tensor.tensor, (quantized, *rest)
        )
    for new in (both, scale, zero, quantized):
        _note_origin(node, new)
    return dequantized


def _replace(node: fx.Node, new: fx.Node) -> None:
    _note_origin(node, new)
    node.replace_all_uses_with(new)
    node.graph.erase_node(node)


def _note_origin(observer: fx.Node, new: fx.Node) -> None:
    """Where a node comes from: the observer, and the code that made what it saw."""
    source: Any = observer.args[0]
    for key in ("stack_trace", "nn_module_stack", "torch_fn"):
        if key in source.meta:
            new.meta[key] = source.meta[key]
    new.meta["from_node"] = [NodeSource(observer, "convert_pt2e", [NodeSourceAction.CREATE])]
