"""Which nodes the reference backend takes."""

from collections.abc import Collection
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from etlab.exir.decompose.operators import EXPANDED_LATER, has_kernel
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.partition.helpers import partition_by_support
from etlab.exir.partition.partitioner import DelegationSpec, Partitioner, PartitionResult

BACKEND_ID = "ReferenceBackend"


class ReferencePartitioner(Partitioner):
    """Takes every operator that has a portable kernel, or those that `operators` names.

    Args:
        operators: operators as objects (`torch.ops.aten.mm.default`) or names, with or without
            namespace and overload (`"aten.mm.default"`, `"aten.mm"`, `"mm"`); None takes all.
        min_nodes: leave smaller groups to the portable operators.
    """

    def __init__(
        self, operators: Collection[str | OpOverload] | None = None, *, min_nodes: int = 1
    ) -> None:
        self.operators = None if operators is None else {str(name) for name in operators}
        self.min_nodes = min_nodes

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag what the backend takes."""
        return partition_by_support(
            exported_program,
            DelegationSpec(BACKEND_ID, [CompileSpec("format", b"pte")]),
            self.why_not,
            prefix="reference_",
            min_nodes=self.min_nodes,
        )

    def why_not(self, node: fx.Node) -> str | None:
        """Why a node is left; None when it is taken."""
        target: Any = node.target
        if not isinstance(target, OpOverload):
            return "it is not an operator on tensors"
        if not (has_kernel(target) or target in EXPANDED_LATER):
            return f"{target} has no portable kernel"
        if not _all_tensors(node.meta["val"]):
            return "its result is a number, not a tensor"
        if any(not _all_tensors(source.meta.get("val")) for source in node.all_input_nodes):
            return "it takes a size that is known only at run time"
        if self.operators is not None and not self.operators & _names(target):
            return f"{target} is not among the operators asked for: name it in operators"
        return None


def _all_tensors(val: Any) -> bool:
    values = val if isinstance(val, tuple | list) else (val,)
    return all(isinstance(value, torch.Tensor) for value in values)


def _names(target: OpOverload) -> set[str]:
    """The ways to name an operator; a `_copy` also by the name of its view."""
    bare = target._opname
    base = bare.removesuffix("_copy")
    packets = {bare, base, f"{target.namespace}.{bare}", f"{target.namespace}.{base}"}
    return packets | {str(target), f"{target.namespace}.{base}.{target._overloadname}"}
