"""Which operators run on quantized elements: patterns of quantize and dequantize around them.

Static: `dequantize → operator → (ReLU) → quantize` is one node on 8-bit integers. Dynamic:
`choose → quantize → dequantize → linear` quantizes rows at run time. Weights are constants behind a
dequantize of their own. What fits no pattern is computed with floats between conversions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from etlab.backends.xnnpack.operators.registry import argument, is_zero_padding
from etlab.backends.xnnpack.steps import PerChannel, PerGroup, PerTensor, Quantization
from etlab.exir.graph import is_getitem

QUANTIZE = "quantized_decomposed.quantize_per_tensor.default"
DEQUANTIZE = "quantized_decomposed.dequantize_per_tensor.default"
DEQUANTIZE_CHANNELS = "quantized_decomposed.dequantize_per_channel.default"
QUANTIZE_DYNAMIC = (
    "quantized_decomposed.quantize_per_tensor.tensor",
    "quantized_decomposed.quantize_per_token.default",
    "torchao.quantize_affine.default",
)
DEQUANTIZE_DYNAMIC = (
    "quantized_decomposed.dequantize_per_tensor.tensor",
    "quantized_decomposed.dequantize_per_token.default",
    "torchao.dequantize_affine.default",
)
CHOOSE = (
    "quantized_decomposed.choose_qparams.tensor",
    "quantized_decomposed.choose_qparams_per_token_asymmetric.default",
    "torchao.choose_qparams_affine.default",
)

_ACTIVATIONS = ("aten.relu.default", "aten.hardtanh.default", "aten.clamp.default")
_PRODUCTS = ("aten.linear.default", "aten.convolution.default")
_LIMITED = (*_PRODUCTS, "aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor")
_MAKE_OTHER_SCALES = (
    *_LIMITED,
    "aten.mean.dim",
    "aten.sigmoid.default",
    "aten.tanh.default",
    "aten.leaky_relu.default",
    "aten.elu.default",
)
# Whose results are elements of their inputs, and zeros.
MOVES = (
    "aten.cat.default",
    "aten.constant_pad_nd.default",
    "aten.max_pool2d_with_indices.default",
    "aten.permute_copy.default",
    "aten.select_copy.int",
    "aten.slice_copy.Tensor",
    "aten.squeeze_copy.dims",
    "aten.t_copy.default",
    "aten.transpose_copy.int",
    "aten.unsqueeze_copy.default",
    "aten.view_copy.default",
)
_KEEP_SCALES = (*_ACTIVATIONS, *MOVES)


@dataclass(frozen=True, slots=True, eq=False)
class Weight:
    """A constant behind a dequantize.

    Attributes:
        elements: int8, logical sizes.
        quantization: how they are to be read; None when XNNPACK has no such scheme.
        bits: 8, or 4 when all elements are from -8 to 7.
        node: the dequantize.
    """

    elements: torch.Tensor
    quantization: Quantization | None
    bits: int
    node: fx.Node

    def dequantized(self) -> torch.Tensor:
        """The elements as floats."""
        match self.quantization:
            case PerTensor(scale, zero_point):
                return (self.elements.float() - zero_point) * scale
            case PerChannel(scales, axis):
                shape = [1] * self.elements.dim()
                shape[axis] = -1
                return self.elements.float() * scales.reshape(shape)
            case PerGroup(_, group_size):
                grouped = self.elements.float().reshape(len(self.elements), -1, group_size)
                return (grouped * self.exact_scales.unsqueeze(-1)).reshape(self.elements.shape)
        raise AssertionError("a weight of an unknown scheme is never taken")

    @property
    def exact_scales(self) -> torch.Tensor:
        """Scales of groups before they are rounded to bfloat16; (rows, groups)."""
        assert isinstance(self.quantization, PerGroup)
        return self.quantization.scales.float()


@dataclass(slots=True)
class Plan:
    """What runs quantized.

    Attributes:
        static: operators on 8-bit integers, with the quantize node behind them.
        fused: activations between such an operator and its quantize.
        dynamic: layers whose rows are quantized at run time, with their floating-point input.
        weights: every dequantize of a constant.
        chains: nodes that only serve dynamic layers: choose, its results, quantize, dequantize.
        reasons: why an operator between dequantize and quantize is computed with floats.
    """

    static: dict[fx.Node, fx.Node] = field(default_factory=dict)
    fused: set[fx.Node] = field(default_factory=set)
    dynamic: dict[fx.Node, fx.Node] = field(default_factory=dict)
    weights: dict[fx.Node, Weight] = field(default_factory=dict)
    chains: set[fx.Node] = field(default_factory=set)
    reasons: dict[fx.Node, str] = field(default_factory=dict)


def per_tensor(node: fx.Node) -> PerTensor | None:
    """Scale and zero point of a static quantize or dequantize of int8; None for others."""
    if str(node.target) not in (QUANTIZE, DEQUANTIZE):
        return None
    scale, zero_point, _, _, dtype = node.args[1:6]
    if dtype is not torch.int8 or not isinstance(scale, float) or not isinstance(zero_point, int):
        return None
    return PerTensor(scale, zero_point)


def plan_quantized(graph: fx.Graph, constants: Mapping[fx.Node, torch.Tensor]) -> Plan:
    """Find the patterns of a graph.

    Args:
        graph: an edge graph, or a part that was cut out of one.
        constants: the tensor of every placeholder that never changes.
    """
    plan = Plan()
    calls = [node for node in graph.nodes if node.op == "call_function"]
    for node in calls:
        weight = _weight(node, constants)
        if weight is not None:
            plan.weights[node] = weight
    for node in calls:
        name = str(node.target)
        if name in _PRODUCTS and _is_dynamic(node, plan):
            _take_dynamic(node, plan)
        elif name in _MAKE_OTHER_SCALES or name in _KEEP_SCALES:
            _take_static(node, plan, constants)
    _drop_shared_chains(plan)
    return plan


def _drop_shared_chains(plan: Plan) -> None:
    """Give up layers whose dequantized input somebody else sees, too."""
    serving = {*plan.dynamic, *plan.chains}
    for node in list(plan.dynamic):
        dequantize: Any = node.args[0]
        quantize = dequantize.args[0]
        if all(user in serving for user in (*dequantize.users, *quantize.users)):
            continue
        del plan.dynamic[node]
        plan.chains.discard(dequantize)
        plan.reasons[node] = "others use its input after it is quantized"


def _weight(node: fx.Node, constants: Mapping[fx.Node, torch.Tensor]) -> Weight | None:
    name = str(node.target)
    if name not in (DEQUANTIZE, DEQUANTIZE_CHANNELS, "torchao.dequantize_affine.default"):
        return None
    source: Any = node.args[0]
    if source not in constants or constants[source].dtype is not torch.int8:
        return None
    elements = constants[source]
    if name == DEQUANTIZE:
        return Weight(elements, per_tensor(node), 8, node)
    if name == DEQUANTIZE_CHANNELS:
        scales, zeros, axis, low, high = node.args[1:6]
        quantization = _channels(scales, zeros, int(axis) % elements.dim(), constants)  # type: ignore[arg-type]
        return Weight(elements, quantization, _bits(low, high), node)
    return _affine_weight(node, elements, constants)


def _affine_weight(
    node: fx.Node, elements: torch.Tensor, constants: Mapping[fx.Node, torch.Tensor]
) -> Weight:
    """A weight in blocks of rows, as torchao writes it."""
    block: Any = node.args[1]
    scales, zeros = node.args[2:4]
    low, high = argument(node, 5, "quant_min"), argument(node, 6, "quant_max")
    bits = _bits(low, high)
    is_matrix = elements.dim() == 2 and block[0] == 1 and scales in constants
    if not is_matrix or not _is_zero(zeros, constants):
        return Weight(elements, None, bits, node)
    table = constants[scales].float()  # type: ignore[index]
    if block[1] == elements.shape[1]:
        return Weight(elements, PerChannel(table.reshape(-1), 0), bits, node)
    rows = table.reshape(len(elements), -1).to(torch.bfloat16)
    return Weight(elements, PerGroup(rows, int(block[1])), bits, node)


def _channels(
    scales: Any, zeros: Any, axis: int, constants: Mapping[fx.Node, torch.Tensor]
) -> PerChannel | None:
    if scales not in constants or not _is_zero(zeros, constants):
        return None
    return PerChannel(constants[scales].float(), axis)


def _is_zero(zeros: Any, constants: Mapping[fx.Node, torch.Tensor]) -> bool:
    return zeros is None or (zeros in constants and not bool(constants[zeros].any()))


def _bits(low: Any, high: Any) -> int:
    return 4 if low is not None and low >= -8 and high is not None and high <= 7 else 8


def _is_dynamic(node: fx.Node, plan: Plan) -> bool:
    source: Any = node.args[0]
    return str(source.target) in DEQUANTIZE_DYNAMIC and source not in plan.weights


def _take_dynamic(node: fx.Node, plan: Plan) -> None:
    """A layer whose input is quantized at run time, row by row."""
    dequantize: Any = node.args[0]
    quantize = dequantize.args[0]
    if not isinstance(quantize, fx.Node) or str(quantize.target) not in QUANTIZE_DYNAMIC:
        plan.reasons[node] = "its input is dequantized, but not by the quantize before"
        return
    weight = plan.weights.get(node.args[1])  # type: ignore[arg-type]
    reason = _why_not_dynamic(node, weight)
    if reason is not None:
        plan.reasons[node] = reason
        return
    parameters = [n for n in quantize.all_input_nodes[1:] if is_getitem(n)]
    choosers = {n.all_input_nodes[0] for n in parameters}
    if not parameters or any(str(chooser.target) not in CHOOSE for chooser in choosers):
        plan.reasons[node] = "nothing chooses the scale of its input at run time"
        return
    plan.dynamic[node] = quantize.args[0]  # type: ignore[assignment]
    plan.chains |= {dequantize, quantize, *parameters, *choosers}


def _why_not_dynamic(node: fx.Node, weight: Weight | None) -> str | None:
    if weight is None:
        return "its input is quantized at run time, but its weight is no quantized constant"
    if weight.quantization is None or isinstance(weight.quantization, PerTensor):
        return (
            "its weight has one scale for all channels (or a zero point): XNNPACK wants a scale per"
            " output channel for inputs that are quantized at run time; use is_per_channel=True"
        )
    if isinstance(weight.quantization, PerGroup):
        group = weight.quantization.group_size
        if group % 32 or weight.elements.shape[1] % group or weight.bits != 4:
            return (
                f"its weight has groups of {group} columns of {weight.bits} bits: XNNPACK wants 4"
                " bits and groups that are multiples of 32"
            )
    if weight.bits == 4 and weight.elements.shape[1] % 2:
        return (
            f"its weight has {weight.elements.shape[1]} columns of 4 bits, XNNPACK wants an even"
            " number: pad in_features"
        )
    if str(node.target) == "aten.convolution.default":
        depthwise = weight.elements.shape[1] == 1 and node.args[8] != 1
        if node.args[6] or depthwise or weight.elements.dim() != 4 or weight.bits != 8:
            return "XNNPACK quantizes at run time for plain 2-d convolutions only"
    return None


def _take_static(node: fx.Node, plan: Plan, constants: Mapping[fx.Node, torch.Tensor]) -> None:
    """An operator between dequantize and quantize."""
    inputs = _activations(node)
    scales = [per_tensor(source) for source in inputs]
    if not inputs or any(scale is None for scale in scales):
        return
    quantize = _quantize_behind(node)
    if quantize is None:
        return
    result = per_tensor(quantize)
    assert result is not None
    reason = None
    if str(node.target) in _KEEP_SCALES and any(scale != result for scale in scales):
        reason = "it moves elements between different scales"
    elif str(node.target) in _PRODUCTS:
        reason = _why_not_product(node, plan, constants, scales[0], result)
    else:
        reason = _why_not_ratio(node, [s for s in scales if s is not None], result)
    if reason is None:
        plan.static[node] = quantize
        between: Any = quantize.args[0]
        if str(between.target) in _ACTIVATIONS and between is not node:
            plan.fused.add(between)
    else:
        plan.reasons[node] = reason


def _activations(node: fx.Node) -> list[fx.Node]:
    """The inputs of an operator that carry results; weights and biases apart.

    Zero padding that a convolution absorbs is looked through.
    """
    if str(node.target) in _PRODUCTS:
        source: Any = node.args[0]
        if str(node.target) == "aten.convolution.default" and not node.args[6]:
            spatial = source.meta["val"].dim() - 2
            source = source.args[0] if is_zero_padding(source, spatial) else source
        return [source]
    return list(node.all_input_nodes)


def _quantize_behind(node: fx.Node) -> fx.Node | None:
    """The quantize that takes an operator's only result, through a fused activation."""
    users = list(node.users)
    if len(users) == 1 and is_getitem(users[0]) and users[0].args[1] == 0:
        users = list(users[0].users)
    if len(users) == 1 and str(users[0].target) in _ACTIVATIONS:
        if str(node.target) not in _LIMITED or not _has_fixed_limits(users[0]):
            return None
        users = list(users[0].users)
    if len(users) != 1 or str(users[0].target) != QUANTIZE:
        return None
    return users[0] if per_tensor(users[0]) is not None else None


def _has_fixed_limits(activation: fx.Node) -> bool:
    return not any(isinstance(argument, fx.Node) for argument in activation.args[1:])


def _why_not_product(
    node: fx.Node,
    plan: Plan,
    constants: Mapping[fx.Node, torch.Tensor],
    source: PerTensor | None,
    result: PerTensor,
) -> str | None:
    weight = plan.weights.get(node.args[1])  # type: ignore[arg-type]
    bias = argument(node, 2, "bias")
    if weight is None:
        return "its weight is no quantized constant"
    if bias is not None and bias not in constants:
        return "its bias is no constant"
    is_transposed = str(node.target) == "aten.convolution.default" and bool(node.args[6])
    assert source is not None
    match weight.quantization:
        case PerTensor(scale, 0):
            steps = torch.tensor([scale])
        case PerChannel(scales, axis) if axis == (1 if is_transposed else 0):
            if is_transposed and node.args[8] != 1:
                return "it is transposed in groups, with a scale per channel"
            steps = scales.reshape(-1)
        case _:
            return "its weight's scales are not per output channel, or it has a zero point"
    if not 0 < source.scale * float(steps.max()) / result.scale < 256:
        return "the scales of its input, weight and result are too far apart"
    if bias is not None and bool((constants[bias].abs() >= steps * source.scale * 2.0**31).any()):
        return "its bias does not fit into 32-bit integers of its input's and weight's scales"
    return None


def _why_not_ratio(node: fx.Node, scales: list[PerTensor], result: PerTensor) -> str | None:
    """XNNPACK's limits on how far the scales of operands and result may be apart."""
    ratios = [scale.scale / result.scale for scale in scales]
    name = str(node.target)
    low, high = 2.0**-10, 2.0**8
    if name == "aten.mul.Tensor":
        ratios, low = [ratios[0] * scales[-1].scale], 2.0**-16
    if not all(low <= ratio < high for ratio in ratios):
        return "the scales of its operands and its result are too far apart"
    if name in ("aten.add.Tensor", "aten.sub.Tensor") and argument(node, 2, "alpha", 1) != 1:
        return "its alpha is not 1"
    return None
