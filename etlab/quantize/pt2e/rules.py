"""What is observed around every operator that the CPU delegate computes with integers.

An activation is observed once, behind the operator that makes it (behind the ReLU that goes along);
who reads it shares the observer. Operators that only move elements share their input's. Softmax,
norms, matrix products of two activations and GELU are no rules here: XNNPACK computes them with
floats, so integers around them would round twice for nothing. For the same reason sums, means and
the like stay in float where nothing but floats is around them (`islands.py`).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from etlab.quantize.base import quiet_imports
from etlab.quantize.pt2e.config import QuantizationConfig, with_channels
from etlab.quantize.pt2e.constants import state_of
from etlab.quantize.pt2e.islands import islands

with quiet_imports():
    from torchao.quantization.pt2e.quantizer import (
        FixedQParamsQuantizationSpec,
        QuantizationAnnotation,
        SharedQuantizationSpec,
    )

aten = torch.ops.aten

ANNOTATION = "quantization_annotation"
ConfigOf = Callable[[fx.Node], QuantizationConfig | None]

LINEAR = (aten.linear.default,)
CONVOLUTIONS = (
    aten.conv1d.default,
    aten.conv1d.padding,
    aten.conv2d.default,
    aten.conv2d.padding,
)
TRANSPOSED = (aten.conv_transpose1d.default, aten.conv_transpose2d.input)
PRODUCTS = (*LINEAR, *CONVOLUTIONS, *TRANSPOSED)
ARITHMETIC = (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor)
# What an operator before takes along.
FUSED = (aten.relu.default, aten.relu6.default, aten.hardtanh.default, aten.clamp.default)
NORMS = (aten.batch_norm.default,)
_OWN_SCALE = (aten.leaky_relu.default, aten.elu.default, aten.mean.dim)
_AVERAGES = (aten.adaptive_avg_pool1d.default, aten.adaptive_avg_pool2d.default)
# XNNPACK wants just these scales of what it makes with a table.
_FIXED = {aten.sigmoid.default: (1 / 256, -128), aten.tanh.default: (1 / 128, 0)}
SHARED = (
    *FUSED,
    aten.alias.default,
    aten.clone.default,
    aten.constant_pad_nd.default,
    aten.contiguous.default,
    aten.detach.default,
    aten.dropout.default,
    aten.flatten.using_ints,
    aten.max_pool2d.default,
    aten.movedim.int,
    aten.pad.default,
    aten.permute.default,
    aten.reshape.default,
    aten.select.int,
    aten.slice.Tensor,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.t.default,
    aten.transpose.int,
    aten.unflatten.int,
    aten.unsqueeze.default,
    aten.view.default,
)
_RULED = (*PRODUCTS, *ARITHMETIC, *_OWN_SCALE, *_AVERAGES, *_FIXED, *SHARED, aten.cat.default)


def is_quantizable(value: Any) -> bool:
    """Whether a node, or an argument, is a float32 tensor with elements."""
    tensor = value.meta.get("val") if isinstance(value, fx.Node) else None
    return isinstance(tensor, torch.Tensor) and tensor.dtype is torch.float32


def annotate(graph: fx.Graph, config_of: ConfigOf) -> None:
    """Write annotations into the meta data of nodes that have none yet.

    Args:
        graph: of `torch.export`, before decomposition; see `cleaning.py`.
        config_of: the configuration of a node; None leaves it in float.
    """
    state = state_of(graph)
    given = {node for node in graph.nodes if ANNOTATION in node.meta}  # by another quantizer
    lonely = islands(
        graph,
        lambda node: node in given or node.target in _RULED,
        lambda node: node in given or (node.target in PRODUCTS and _is_layer(node, state)),
    )
    for node in graph.nodes:
        if node.op != "call_function" or ANNOTATION in node.meta or node in lonely:
            continue
        config = config_of(node)
        if config is None or (node.target in PRODUCTS and not _is_layer(node, state)):
            continue
        if config.input_activation is not None and config.input_activation.is_dynamic:
            _annotate_dynamic(node, config)
        else:
            _annotate_static(node, config, config_of)


def _annotate_dynamic(node: fx.Node, config: QuantizationConfig) -> None:
    """Layers whose inputs are quantized at run time; XNNPACK has no depthwise or transposed one."""
    target: Any = node.target
    if target not in (*LINEAR, *CONVOLUTIONS):
        return
    if target in CONVOLUTIONS and (_rank(node.args[1]) != 4 or _argument(node, 6, "groups", 1) > 1):
        return
    _annotate_layer(node, config)


def _annotate_static(node: fx.Node, config: QuantizationConfig, config_of: ConfigOf) -> None:
    target: Any = node.target
    if target in PRODUCTS:
        _annotate_layer(node, config)
        _annotate_result(_last_of_pattern(node, config, config_of), config)
    elif not is_quantizable(node):
        return
    elif target in ARITHMETIC:
        if _argument(node, 2, "alpha", 1) == 1 and all(map(is_quantizable, node.args[:2])):
            _observe_inputs(node, config)
            _annotate_result(_last_of_pattern(node, config, config_of), config)
    elif target in _OWN_SCALE or (target in _AVERAGES and _is_global(node)):
        if is_quantizable(node.args[0]):
            _observe_inputs(node, config)
            _annotate_result(node, config)
    elif target in _FIXED:
        _observe_inputs(node, config)
        node.meta[ANNOTATION].output_qspec = _fixed(*_FIXED[target])
    elif target is aten.cat.default:
        _annotate_cat(node, config)
    elif target in SHARED and _moves_only(node):
        share_scale(node)


def _is_layer(node: fx.Node, state: set[str]) -> bool:
    """Whether a product is of an activation and a constant weight."""
    source, weight = node.args[:2]
    is_constant = isinstance(weight, fx.Node) and weight.op == "get_attr"
    is_constant = is_constant and str(weight.target) not in state  # type: ignore[union-attr]
    return is_constant and all(map(is_quantizable, (node, source, weight)))


def _annotate_layer(node: fx.Node, config: QuantizationConfig) -> None:
    source: Any
    weight: Any
    source, weight = node.args[:2]
    axis: int | None = 0
    if node.target in TRANSPOSED:  # (in, out / groups, ...)
        axis = 1 if _argument(node, 6, "groups", 1) == 1 else None
    specs = {source: _input_spec(source, config)}
    if config.weight is not None:
        specs[weight] = with_channels(config.weight, axis)
    node.meta[ANNOTATION] = QuantizationAnnotation(input_qspec_map=specs, _annotated=True)


def _last_of_pattern(node: fx.Node, config: QuantizationConfig, config_of: ConfigOf) -> fx.Node:
    """The node whose result is observed: the batch norm of a training, then the activation."""
    last = node
    if config.is_qat and node.target in PRODUCTS and _has_channels_of_norms(node):
        last = _only_user(last, NORMS, config_of) or last
    return _only_user(last, FUSED, config_of) or last


def _has_channels_of_norms(layer: fx.Node) -> bool:
    """Whether a batch norm's axis 1 is the output channel of a layer, and of its weight."""
    if layer.target in LINEAR:
        return _rank(layer) == 2
    return layer.target not in TRANSPOSED or _argument(layer, 6, "groups", 1) == 1


def _only_user(node: fx.Node, targets: tuple[Any, ...], config_of: ConfigOf) -> fx.Node | None:
    users = list(node.users)
    if len(users) != 1 or users[0].target not in targets or ANNOTATION in users[0].meta:
        return None
    if users[0].target in FUSED and len(users[0].all_input_nodes) > 1:
        return None  # limits that are known only at run time
    return users[0] if config_of(users[0]) is not None else None


def annotate_own_scale(node: fx.Node, config: QuantizationConfig) -> None:
    """Observe the tensors that an operator takes, and its result."""
    _observe_inputs(node, config)
    _annotate_result(node, config)


def _observe_inputs(node: fx.Node, config: QuantizationConfig) -> None:
    sources = [source for source in node.all_input_nodes if is_quantizable(source)]
    specs = {source: _input_spec(source, config) for source in sources}
    node.meta[ANNOTATION] = QuantizationAnnotation(input_qspec_map=specs, _annotated=True)


def _input_spec(source: fx.Node, config: QuantizationConfig) -> Any:
    """What a reader of `source` observes; a scale that the operator demands is the reader's too."""
    root: Any = source
    while _is_observed(root):
        spec = root.meta[ANNOTATION].output_qspec
        if isinstance(spec, FixedQParamsQuantizationSpec):
            return SharedQuantizationSpec(source)
        root = spec.edge_or_node if isinstance(spec, SharedQuantizationSpec) else None
    return config.input_activation


def _annotate_result(node: fx.Node, config: QuantizationConfig) -> None:
    annotation = node.meta.setdefault(ANNOTATION, QuantizationAnnotation(_annotated=True))
    annotation.output_qspec = config.output_activation


def _annotate_cat(node: fx.Node, config: QuantizationConfig) -> None:
    """One scale for all parts and the whole."""
    parts: Any = node.args[0]
    if not parts or not all(map(is_quantizable, parts)):
        return
    first, *others = dict.fromkeys(parts)
    shared = SharedQuantizationSpec((first, node))
    specs: dict[fx.Node, Any] = {first: config.input_activation}
    specs |= dict.fromkeys(others, shared)
    node.meta[ANNOTATION] = QuantizationAnnotation(
        input_qspec_map=specs, output_qspec=shared, _annotated=True
    )


def share_scale(node: fx.Node) -> None:
    """The result has the input's scale, if the input is an observed result."""
    source: Any = node.args[0]
    if _is_observed(source):
        shared = SharedQuantizationSpec(source)
        node.meta[ANNOTATION] = QuantizationAnnotation(
            input_qspec_map={source: shared}, output_qspec=shared, _annotated=True
        )


def _is_observed(node: Any) -> bool:
    if not isinstance(node, fx.Node):
        return False
    annotation = node.meta.get(ANNOTATION)
    return annotation is not None and annotation.output_qspec is not None


def _moves_only(node: fx.Node) -> bool:
    """Whether the result holds the input's elements only, and zeros, which every scale has."""
    if node.target is aten.constant_pad_nd.default:
        return not _argument(node, 2, "value", 0)
    if node.target is aten.pad.default:
        is_constant = _argument(node, 2, "mode", "constant") == "constant"
        return is_constant and not _argument(node, 3, "value", 0)
    return node.target is not aten.dropout.default or not node.args[2]


def _is_global(node: fx.Node) -> bool:
    sizes: Any = node.args[1]
    return all(size == 1 for size in sizes)


def _fixed(scale: float, zero_point: int) -> FixedQParamsQuantizationSpec:
    return FixedQParamsQuantizationSpec(
        dtype=torch.int8,
        scale=scale,
        zero_point=zero_point,
        quant_min=-128,
        quant_max=127,
        qscheme=torch.per_tensor_affine,
    )


def _argument(node: fx.Node, index: int, name: str, default: Any) -> Any:
    value = node.args[index] if len(node.args) > index else node.kwargs.get(name)
    return default if value is None else value


def _rank(node: Any) -> int:
    rank: int = node.meta["val"].dim()
    return rank
