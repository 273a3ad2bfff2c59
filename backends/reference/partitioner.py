"""Which nodes the reference backend takes."""

from collections.abc import Collection
from typing import Any

from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from etlab.exir.decompose.operators import EXPANDED_LATER, has_kernel
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.partition.helpers import names_of, partition_by_support, why_not_tensors
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
        if reason := why_not_tensors(node):
            return reason
        target: Any = node.target
        if not (has_kernel(target) or target in EXPANDED_LATER):
            return f"{target} has no portable kernel"
        if self.operators is not None and not self.operators & names_of(target):
            return f"{target} is not among the operators asked for: name it in operators"
        return None
