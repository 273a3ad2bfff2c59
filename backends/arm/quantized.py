"""Which operators compute with integers: those between dequantize and quantize.

`dequantize → operator → (activation) → quantize` is one operation on integers. Its weight is a
constant behind a dequantize of its own, its bias a float constant.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from etlab.exir.graph import is_getitem

QUANTIZE = "quantized_decomposed.quantize_per_tensor.default"
DEQUANTIZE = "quantized_decomposed.dequantize_per_tensor.default"
DEQUANTIZE_CHANNELS = "quantized_decomposed.dequantize_per_channel.default"
ACTIVATIONS = ("aten.relu.default", "aten.hardtanh.default", "aten.clamp.default")
PRODUCTS = ("aten.linear.default", "aten.convolution.default")
_WITH_ACTIVATION = (*PRODUCTS, "aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor")
# What integers may be, with their limits.
LIMITS = {torch.int8: (-128, 127), torch.int16: (-32768, 32767)}


@dataclass(frozen=True, slots=True)
class Scale:
    """What integers stand for: `(q - zero_point) * scale`."""

    scale: float
    zero_point: int
    dtype: torch.dtype = torch.int8

    def dequantized(self, integers: torch.Tensor) -> torch.Tensor:
        """The floats."""
        return (integers.to(torch.int32) - self.zero_point).to(torch.float32) * self.scale

    def nearest(self, number: float) -> int:
        """The integer that a number is rounded to, within the dtype."""
        low, high = LIMITS[self.dtype]
        steps = min(max(number / self.scale, 4.0 * low), 4.0 * high)
        return min(max(round(steps) + self.zero_point, low), high)


@dataclass(frozen=True, slots=True, eq=False)
class Weight:
    """A constant behind a dequantize.

    Attributes:
        elements: int8.
        scales: float32; one, or one for each index of `axis`.
        axis: that the scales belong to.
    """

    elements: torch.Tensor
    scales: torch.Tensor
    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """What computes with integers.

    Attributes:
        node: the operator.
        sources: the dequantize nodes of its inputs, in the order of `node.all_input_nodes`.
        scales: of these.
        quantize: behind it.
        result: the scale of the quantize.
        activation: between the operator and its quantize.
        weight: of a layer.
        bias: of a layer, float32.
        numbers: of its inputs those that are one constant number, which are no sources.
        members: all nodes that the operation stands for.
    """

    node: fx.Node
    sources: tuple[fx.Node, ...]
    scales: tuple[Scale, ...]
    quantize: fx.Node
    result: Scale
    activation: fx.Node | None
    weight: Weight | None
    bias: torch.Tensor | None
    numbers: Mapping[fx.Node, float]
    members: tuple[fx.Node, ...]

    @property
    def is_rescaling(self) -> bool:
        """Whether the scale of its first input is not its result's."""
        return self.scales[0] != self.result

    def limits(self) -> tuple[int, int]:
        """The smallest and largest integer of the result, by its activation."""
        return limits_of(self.activation, self.result)


@dataclass(slots=True)
class Plan:
    """What computes with integers.

    Attributes:
        operations: by operator.
        owner: the operator of every node that goes along with one.
        reasons: why an operator cannot, in words.
    """

    operations: dict[fx.Node, Operation] = field(default_factory=dict)
    owner: dict[fx.Node, fx.Node] = field(default_factory=dict)
    reasons: dict[fx.Node, str] = field(default_factory=dict)


def plan_operations(
    nodes: Iterable[fx.Node], constants: Mapping[fx.Node, torch.Tensor], operators: Sequence[str]
) -> Plan:
    """Find what computes with integers.

    Args:
        nodes: of an edge graph, or of a part that was cut out of one.
        constants: the tensor of every placeholder that never changes.
        operators: that there are rules for.
    """
    plan, known = Plan(), set(operators)
    for node in nodes:
        if node.op != "call_function" or str(node.target) not in known or node in plan.owner:
            continue
        if str(node.target) == QUANTIZE and scale_of(node.args[0]) is None:
            plan.reasons[node] = "it converts floats, which NPUs do not know: the host does it"
            continue
        found = _operation(node, constants)
        if isinstance(found, str):
            plan.reasons[node] = found
            continue
        plan.operations[node] = found
        plan.owner |= dict.fromkeys(found.members, node)
    return plan


def scale_of(node: Any) -> Scale | None:
    """Of a quantize or dequantize with one fixed scale; None for others."""
    if not isinstance(node, fx.Node) or str(node.target) not in (QUANTIZE, DEQUANTIZE):
        return None
    scale, zero_point, _, _, dtype = node.args[1:6]
    if dtype not in LIMITS or not isinstance(scale, float) or not isinstance(zero_point, int):
        return None
    return Scale(scale, zero_point, dtype)  # type: ignore[arg-type]


def limits_of(activation: fx.Node | None, scale: Scale) -> tuple[int, int]:
    """The smallest and largest integer that an activation leaves."""
    low, high = LIMITS[scale.dtype]
    if activation is None:
        return low, high
    match str(activation.target):
        case "aten.relu.default":
            bounds: tuple[Any, Any] = (0.0, None)
        case "aten.hardtanh.default":
            bounds = (
                argument(activation, 1, "min_val", -1.0),
                argument(activation, 2, "max_val", 1.0),
            )
        case _:
            bounds = argument(activation, 1, "min"), argument(activation, 2, "max")
    return (
        low if bounds[0] is None else scale.nearest(float(bounds[0])),
        high if bounds[1] is None else scale.nearest(float(bounds[1])),
    )


def argument(node: fx.Node, index: int, name: str, default: Any = None) -> Any:
    """An argument of a call, wherever it stands."""
    return node.args[index] if len(node.args) > index else node.kwargs.get(name, default)


def _operation(node: fx.Node, constants: Mapping[fx.Node, torch.Tensor]) -> Operation | str:
    """The operation of an operator, or why there is none."""
    inputs, weight, bias = list(node.all_input_nodes), None, None
    members = [node]
    if str(node.target) in PRODUCTS:
        given, held = node.args[1], argument(node, 2, "bias")
        weight = _weight(given, constants)
        if weight is None:
            return "its weight is no constant of 8-bit integers: quantize it (int8-arm)"
        if held is not None and held not in constants:
            return "its bias is no constant: add it after the layer"
        bias = None if held is None else constants[held]
        members.append(given)  # type: ignore[arg-type]
        inputs = inputs[:1]
    members += inputs
    numbers = _numbers(inputs, constants)
    inputs = [source for source in inputs if source not in numbers]
    scales = [scale_of(source) for source in inputs]
    if not inputs or any(scale is None for scale in scales):
        return "it computes with floats: NPUs have integers, so quantize it (int8-arm)"
    tail = _tail(node)
    if isinstance(tail, str):
        return tail
    members += tail
    quantize = tail[-1] if tail else node
    result = scale_of(quantize)
    assert result is not None
    activation = tail[-2] if len(tail) > 1 and str(tail[-2].target) in ACTIVATIONS else None
    return Operation(
        node,
        tuple(inputs),
        tuple(scale for scale in scales if scale is not None),
        quantize,
        result,
        activation,
        weight,
        bias,
        numbers,
        tuple(members),
    )


def _numbers(
    inputs: Sequence[fx.Node], constants: Mapping[fx.Node, torch.Tensor]
) -> dict[fx.Node, float]:
    """The inputs that are constants of one element without dimensions."""
    found = {}
    for node in inputs:
        scale, held = scale_of(node), next(iter(node.all_input_nodes), None)
        if (
            scale is not None
            and held is not None
            and held in constants
            and constants[held].dim() == 0
        ):
            found[node] = float(scale.dequantized(constants[held]))
    return found


def _tail(node: fx.Node) -> list[fx.Node] | str:
    """What follows an operator up to its quantize: a getitem, an activation, the quantize."""
    if str(node.target) == QUANTIZE:
        return []
    tail, users = [], list(node.users)
    if len(users) == 1 and is_getitem(users[0]):
        if users[0].args[1] != 0:
            return "its second result is used, which TOSA does not compute"
        tail.append(users[0])
        users = list(users[0].users)
    if (
        len(users) == 1
        and str(users[0].target) in ACTIVATIONS
        and str(node.target) in _WITH_ACTIVATION
        and not any(isinstance(one, fx.Node) for one in users[0].args[1:])
    ):
        tail.append(users[0])
        users = list(users[0].users)
    if any(is_getitem(user) for user in users):
        return "its second result is used, which TOSA does not compute"
    if len(users) != 1 or scale_of(users[0]) is None or str(users[0].target) != QUANTIZE:
        return "its result stays a float: NPUs have integers, so quantize it (int8-arm)"
    return [*tail, users[0]]


def _weight(node: Any, constants: Mapping[fx.Node, torch.Tensor]) -> Weight | None:
    """A weight without zero points; None for what is none."""
    if not isinstance(node, fx.Node) or node.op != "call_function":
        return None
    source: Any = node.args[0]
    if source not in constants or constants[source].dtype is not torch.int8:
        return None
    elements = constants[source]
    if str(node.target) == DEQUANTIZE:
        scale = scale_of(node)
        if scale is None or scale.zero_point:
            return None
        return Weight(elements, torch.tensor([scale.scale]), 0)
    if str(node.target) != DEQUANTIZE_CHANNELS:
        return None
    held: Any = node.args
    scales, zeros, axis = held[1:4]
    if scales not in constants or (zeros is not None and zeros not in constants):
        return None
    if zeros is not None and bool(constants[zeros].any()):
        return None
    table = constants[scales].float()
    return Weight(elements, table, int(axis) % elements.dim())
