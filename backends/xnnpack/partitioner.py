"""Which nodes XNNPACK takes, in which groups, and why it leaves the others."""

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import Enum
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from etlab.backends.xnnpack.attention_masks import PrepareAttentionMasks
from etlab.backends.xnnpack.operators.registry import Context, all_rules, overload
from etlab.backends.xnnpack.quantized import DEQUANTIZE, Plan, per_tensor, plan_quantized
from etlab.backends.xnnpack.support import why_not_tensors
from etlab.exir.graph import constant_placeholders, is_getitem
from etlab.exir.partition.grouping import group_supported
from etlab.exir.partition.helpers import names_of, tag_constant_data
from etlab.exir.partition.lower import SHARED_TAGS
from etlab.exir.partition.partitioner import DelegationSpec, Partitioner, PartitionResult
from etlab.exir.passes.base import Pass
from etlab.exir.passes.dequantize_for_each_user import DequantizeForEachUser

BACKEND_ID = "XnnpackBackend"


class ConfigPrecisionType(Enum):
    """Kinds of arithmetic that a partitioner may hand over."""

    FP32 = 1
    STATIC_QUANT = 2
    DYNAMIC_QUANT = 3


class XnnpackPartitioner(Partitioner):
    """Gives XNNPACK all that it can run, in groups as large as possible.

    Args:
        configs: operators to take, as objects or names (`"aten.linear.default"`, `"linear"`);
            None takes all.
        config_precisions: the kinds of arithmetic to hand over; None means all.
        per_op_mode: a delegate per operator.
        verbose: accepted; reasons are always kept.
        force_fp32_dynamic_linear: weights of float32 linear layers become inputs of the delegate.
        force_non_static_weights_for_f32_linear: the same, by ExecuTorch's newer name.
        enable_bf16: take linear layers in bfloat16.
    """

    choice = "xnnpack"

    def __init__(
        self,
        configs: Collection[str | OpOverload] | None = None,
        config_precisions: ConfigPrecisionType | Sequence[ConfigPrecisionType] | None = None,
        per_op_mode: bool = False,
        verbose: bool = False,
        *,
        force_fp32_dynamic_linear: bool = False,
        force_non_static_weights_for_f32_linear: bool = False,
        enable_bf16: bool = False,
    ) -> None:
        if isinstance(config_precisions, ConfigPrecisionType):
            config_precisions = [config_precisions]
        self.configs = None if configs is None else {str(name) for name in configs}
        self.precisions = frozenset(config_precisions or ConfigPrecisionType)
        self.per_op_mode = per_op_mode
        self.weights_at_run_time = (
            force_fp32_dynamic_linear or force_non_static_weights_for_f32_linear
        )
        self.enable_bf16 = enable_bf16

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag what XNNPACK takes."""
        view: Any = exported_program
        constants = constant_placeholders(view.edge_graph)
        plan = plan_quantized(view.edge_graph.graph, constants)
        context = Context(plan, constants, self.weights_at_run_time, self.enable_bf16)
        reasons: dict[str, str] = {}

        def is_supported(node: fx.Node) -> bool:
            reason = self.why_not(node, context)
            if reason is not None:
                reasons[node.name] = reason
            return reason is None

        tags: dict[str, DelegationSpec] = {}
        for group in self._groups(exported_program, is_supported, plan):
            if all(_moves_only(node) for node in group):
                for node in group:
                    reasons[node.name] = (
                        "it only moves elements, and no neighbour goes along: nothing to gain"
                    )
                continue
            tag = f"xnnpack_{len(tags)}"
            tags[tag] = DelegationSpec(BACKEND_ID)
            for node in group:
                node.meta["delegation_tag"] = tag
        tag_constant_data(exported_program)
        if self.weights_at_run_time:
            _leave_weights(exported_program)
        return PartitionResult(exported_program, tags, reasons)

    def why_not(self, node: fx.Node, context: Context) -> str | None:
        """Why a node is left; None when it is taken."""
        target: Any = node.target
        rule = all_rules().get(str(target))
        if rule is None and not isinstance(node.meta.get("val"), torch.Tensor | tuple | list):
            return "it is a number or a size, not a tensor: nothing to gain"
        if rule is None:
            return (
                f"XNNPACK has nothing like {target}: where it splits a delegate, write it with"
                " operators that XNNPACK has"
            )
        if self.configs is not None and not self.configs & names_of(target):
            return f"{target} is not among the operators asked for: name it in configs"
        precision = _precision(node, context.plan)
        if precision is not None and precision not in self.precisions:
            return f"it computes in {precision.name}, not among the config_precisions: add it"
        reason = why_not_tensors(node, context) if rule.checks_tensors else None
        return reason or rule.why_not(node, context)

    def edge_passes(self) -> Sequence[Pass]:
        """What makes more of a graph fit."""
        return (PrepareAttentionMasks(), DequantizeForEachUser())

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[OpOverload], Callable[[fx.Node], bool] | None]:
        """Operators that XNNPACK has as such."""
        kept = [overload(name) for name, rule in all_rules().items() if rule.is_kept]
        return [target for target in kept if target is not None], None

    def _groups(
        self, program: ExportedProgram, is_supported: Callable[[fx.Node], bool], plan: Plan
    ) -> list[list[fx.Node]]:
        if not self.per_op_mode:
            return _with_users(group_supported(program.graph.nodes, is_supported))
        return _one_group_an_operator(program.graph.nodes, is_supported, plan)


class XnnpackPerOpPartitioner(XnnpackPartitioner):
    """Gives XNNPACK all that it can run, one delegate an operator."""

    choice = "xnnpack-per-op"

    def __init__(self) -> None:
        super().__init__(per_op_mode=True)


class XnnpackDynamicallyQuantizedPartitioner(XnnpackPartitioner):
    """Gives XNNPACK the layers whose inputs are quantized at run time."""

    choice = "xnnpack-dynamic"

    def __init__(self, *, per_op_mode: bool = False) -> None:
        super().__init__(
            config_precisions=ConfigPrecisionType.DYNAMIC_QUANT, per_op_mode=per_op_mode
        )


class XnnpackQuantizedPartitioner(XnnpackPartitioner):
    """Gives XNNPACK what computes with 8-bit integers of fixed scales."""

    choice = "xnnpack-static"

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.STATIC_QUANT)


class XnnpackFloatingPointPartitioner(XnnpackPartitioner):
    """Gives XNNPACK what computes with floats."""

    choice = "xnnpack-float"

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.FP32)


def _leave_weights(program: ExportedProgram) -> None:
    """Make the weights of float32 linear layers inputs of their delegates."""
    for node in program.graph.nodes:
        if node.target is torch.ops.aten.linear.default and "delegation_tag" in node.meta:
            weight: Any = node.args[1]
            if weight.op == "placeholder" and weight.meta["val"].dtype is torch.float32:
                weight.meta.pop("delegation_tag", None)
                weight.meta.pop(SHARED_TAGS, None)


def _moves_only(node: fx.Node) -> bool:
    target: Any = node.target
    return is_getitem(node) or all_rules()[str(target)].moves_only


def _precision(node: fx.Node, plan: Plan) -> ConfigPrecisionType | None:
    """The arithmetic of a node; None for weights, which follow their layers."""
    if node in plan.weights:
        return None
    if node in plan.dynamic or node in plan.chains:
        return ConfigPrecisionType.DYNAMIC_QUANT
    if node in plan.static or node in plan.fused or per_tensor(node) is not None:
        return ConfigPrecisionType.STATIC_QUANT
    return ConfigPrecisionType.FP32


def _with_users(groups: list[list[fx.Node]]) -> list[list[fx.Node]]:
    """Move every dequantize whose only user is in another group there, so that integers cross."""
    place = {node: number for number, group in enumerate(groups) for node in group}
    moved: dict[fx.Node, int] = {}
    for node, number in place.items():
        if str(node.target) == DEQUANTIZE and len(node.users) == 1:
            target = place.get(next(iter(node.users)), number)
            if target != number:
                moved[node] = target
    arrived: dict[int, list[fx.Node]] = {}
    for node, target in moved.items():
        arrived.setdefault(target, []).append(node)
    kept = [[node for node in group if node not in moved] for group in groups]
    return [[*arrived.get(number, ()), *group] for number, group in enumerate(kept) if group]


def _one_group_an_operator(
    nodes: Iterable[fx.Node], is_supported: Callable[[fx.Node], bool], plan: Plan
) -> list[list[fx.Node]]:
    """Every operator by itself, with what it takes along: its weight, the conversions around it.

    Layers that share an input quantized at run time are one group.
    """
    leader: dict[fx.Node, fx.Node] = {}

    def find(node: fx.Node) -> fx.Node:
        while leader[node] is not node:
            node = leader[node]
        return node

    ordered = [node for node in nodes if node.op == "call_function"]
    for node in ordered:
        taken = node.all_input_nodes[0] in leader if is_getitem(node) else is_supported(node)
        if not taken:
            continue
        leader[node] = node
        for other in node.all_input_nodes:
            if other in leader and _belongs_together(other, node, plan):
                leader[find(other)] = find(node)
    groups: dict[fx.Node, list[fx.Node]] = {}
    for node in ordered:
        if node in leader:
            groups.setdefault(find(node), []).append(node)
    return list(groups.values())


def _belongs_together(source: fx.Node, node: fx.Node, plan: Plan) -> bool:
    """Whether a node cannot do without one of its inputs, or the other way round."""
    if is_getitem(node) or source in plan.weights or source in plan.chains:
        return True
    if node in plan.static and per_tensor(source) is not None:
        return True
    return source in plan.fused or (source in plan.static and _is_behind(node, plan))


def _is_behind(node: fx.Node, plan: Plan) -> bool:
    """Whether a node is the end of a quantized operator."""
    return node in plan.fused or per_tensor(node) is not None
