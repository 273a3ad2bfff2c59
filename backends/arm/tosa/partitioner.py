"""Which nodes go to TOSA, in which groups, and why others stay."""

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from etlab.backends.arm import package
from etlab.backends.arm.operators.registry import all_rules
from etlab.backends.arm.quantized import (
    DEQUANTIZE,
    DEQUANTIZE_CHANNELS,
    QUANTIZE,
    Operation,
    Plan,
    plan_operations,
)
from etlab.backends.arm.tosa.compile_spec import TosaCompileSpec
from etlab.exir.graph import constant_placeholders
from etlab.exir.partition.grouping import group_supported
from etlab.exir.partition.helpers import names_of, tag_constant_data
from etlab.exir.partition.partitioner import DelegationSpec, Partitioner, PartitionResult
from etlab.exir.passes.base import Pass
from etlab.exir.passes.dequantize_for_each_user import DequantizeForEachUser

_MAXIMUM_RANK = 6


class TOSAPartitioner(Partitioner):
    """Gives TOSA what computes with 8-bit integers; its reference model runs that to the bit.

    Args:
        compile_spec: the specification, also as text; None is TOSA 1.0 with integers
            of 8 and 16 bits.
        operators: operators to take, as objects or names (`"aten.linear.default"`, `"linear"`);
            None takes all.
    """

    choice = "tosa"
    backend_id = "TOSABackend"
    needs = package.REFERENCE_MODEL
    extra = package.EXTRA

    def __init__(
        self,
        compile_spec: TosaCompileSpec | str | None = None,
        *,
        operators: Collection[str | OpOverload] | None = None,
    ) -> None:
        if isinstance(compile_spec, str):
            compile_spec = TosaCompileSpec(compile_spec)
        self.compile_spec = compile_spec or TosaCompileSpec()
        self.operators = None if operators is None else {str(name) for name in operators}

    def delegation_spec(self) -> DelegationSpec:
        """The backend and its options."""
        return DelegationSpec(self.backend_id, self.compile_spec.to_list())

    def why_not_operation(
        self, operation: Operation, constants: Mapping[fx.Node, torch.Tensor]
    ) -> str | None:
        """Why an operation that TOSA has is left all the same; None when it is taken.

        Args:
            operation: there is a lowering of it.
            constants: of the graph.
        """
        return None

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag what TOSA takes, operation by operation: integers cross every border."""
        view: Any = exported_program
        edge = view.edge_graph
        rules = all_rules()
        constants = constant_placeholders(edge)
        plan = plan_operations(edge.graph.nodes, constants, tuple(rules))
        reasons: dict[str, str] = {}
        for node, operation in list(plan.operations.items()):
            reason = self._why_not(operation, constants)
            if reason is not None:
                del plan.operations[node]
                plan.reasons[node] = reason
        tags: dict[str, DelegationSpec] = {}
        for group in _groups(edge.graph.nodes, plan):
            if all(rules[str(plan.owner[node].target)].moves_only for node in group):
                why = "it only moves elements, and no neighbour goes along: nothing to gain"
                plan.reasons |= {plan.owner[node]: why for node in group}
                continue
            tag = f"{self.choice}_{len(tags)}"
            tags[tag] = self.delegation_spec()
            for node in group:
                node.meta["delegation_tag"] = tag
        for node in edge.graph.nodes:
            if node.op == "call_function" and "delegation_tag" not in node.meta:
                reasons[node.name] = self._reason(node, plan)
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags, reasons)

    def _why_not(
        self, operation: Operation, constants: Mapping[fx.Node, torch.Tensor]
    ) -> str | None:
        target: Any = operation.node.target
        if self.operators is not None and not self.operators & names_of(target):
            return f"{target} is not among the operators asked for: name it in operators"
        for node in operation.members:
            if node in operation.numbers:
                continue
            held = node.meta["val"]
            for value in held if isinstance(held, tuple | list) else (held,):
                if reason := _why_not_tensor(value):
                    return reason
        scales = (*operation.scales, operation.result)
        if not self.compile_spec.has_wide_activations and torch.int16 in {s.dtype for s in scales}:
            return (
                f"its activations have 16 bits, {self.compile_spec.tosa_spec} has 8: "
                "TosaCompileSpec('TOSA-1.0+INT+int16')"
            )
        rule = all_rules()[str(target)]
        return rule.why_not(operation) or self.why_not_operation(operation, constants)

    def _reason(self, node: fx.Node, plan: Plan) -> str:
        """Why a node is left."""
        owner = plan.owner.get(node, node)
        if owner in plan.reasons:
            found = plan.reasons[owner]
            return found if owner is node else f"it belongs to '{owner.name}', since {found}"
        if not isinstance(node.target, OpOverload):
            return "it is not an operator on tensors"
        if str(node.target) in (QUANTIZE, DEQUANTIZE, DEQUANTIZE_CHANNELS):
            for user in node.users:
                if user in plan.reasons:
                    return f"it belongs to '{user.name}', since {plan.reasons[user]}"
            return "no operator that NPUs compute with integers goes along with it"
        return f"there is no lowering of {node.target} to TOSA"

    def edge_passes(self) -> Sequence[Pass]:
        """What lets operators take the conversions before them along."""
        return (DequantizeForEachUser(),)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[OpOverload], Callable[[fx.Node], bool] | None]:
        """Functions that are a table as a whole."""
        kept = [name for name, rule in all_rules().items() if rule.is_kept]
        return [operator.attrgetter(name)(torch.ops) for name in kept], None


def _why_not_tensor(value: Any) -> str | None:
    if not isinstance(value, torch.Tensor):
        return "it has a number that is known only at run time"
    if not all(isinstance(size, int) for size in value.shape):
        return "it has a size that varies, TOSA graphs have fixed ones: export without it"
    if not 1 <= value.dim() <= _MAXIMUM_RANK:
        return f"it has a tensor of {value.dim()} dimensions, TOSA has 1 to {_MAXIMUM_RANK}"
    if 0 in value.shape:
        return "a tensor without elements: nothing to compute"
    return None


def _groups(nodes: Any, plan: Plan) -> list[list[fx.Node]]:
    """Groups of whole operations: what belongs to one goes where its operator is."""
    taken = {member for operation in plan.operations.values() for member in operation.members}
    ordered = list(nodes)
    place: dict[fx.Node, int] = {}
    for number, group in enumerate(group_supported(ordered, taken.__contains__)):
        place |= dict.fromkeys(group, number)
    groups: dict[int, list[fx.Node]] = {}
    for node in ordered:
        if node in place:
            groups.setdefault(place[plan.owner[node]], []).append(node)
    return list(groups.values())
