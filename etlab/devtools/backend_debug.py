"""How much of a lowered graph delegates took, counted as ExecuTorch counts it.

`run.delegation()` says more: why a node stayed behind, and what it costs.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
from torch import fx

from etlab.exir.partition.delegate import LoweredModule, executorch_call_delegate

__all__ = [
    "DelegationBreakdown",
    "DelegationInfo",
    "get_delegation_info",
    "print_delegation_info",
]


@dataclass(frozen=True, slots=True)
class DelegationBreakdown:
    """How often an operator occurs.

    Attributes:
        op_type: its name, as "aten_add_tensor".
        delegated: occurrences inside of delegates.
        non_delegated: occurrences outside.
    """

    op_type: str
    delegated: int
    non_delegated: int


@dataclass(frozen=True, slots=True)
class DelegationInfo:
    """The counts of one graph.

    Attributes:
        num_delegated_subgraphs: calls of delegates.
        num_delegated_nodes: calls of operators inside of delegates.
        num_non_delegated_nodes: calls of operators outside.
        delegation_by_operator: the two by operator.
    """

    num_delegated_subgraphs: int
    num_delegated_nodes: int
    num_non_delegated_nodes: int
    delegation_by_operator: dict[str, DelegationBreakdown]

    def get_summary(self) -> str:
        """The totals, one a line."""
        return (
            f"Total delegated subgraphs: {self.num_delegated_subgraphs}\n"
            f"Number of delegated nodes: {self.num_delegated_nodes}\n"
            f"Number of non-delegated nodes: {self.num_non_delegated_nodes}\n"
        )

    def get_operator_delegation_dataframe(self) -> pd.DataFrame:
        """A row an operator by name, the last one "Total"."""
        rows = [
            (one.op_type, one.delegated, one.non_delegated)
            for _, one in sorted(self.delegation_by_operator.items())
        ]
        rows.append(("Total", self.num_delegated_nodes, self.num_non_delegated_nodes))
        return pd.DataFrame(
            rows,
            columns=[
                "op_type",
                "occurrences_in_delegated_graphs",
                "occurrences_in_non_delegated_graphs",
            ],
        )


def get_delegation_info(graph_module: fx.GraphModule) -> DelegationInfo:
    """Count the operators of a lowered graph.

    Args:
        graph_module: `manager.exported_program().graph_module`.
    """
    calls = list(_calls(graph_module.graph))
    outside = Counter(_op_type(node) for node in calls if not _is_delegate(node))
    lowered = [getattr(graph_module, str(node.args[0])) for node in calls if _is_delegate(node)]
    inside: Counter[str] = Counter()
    for module in lowered:
        assert isinstance(module, LoweredModule)
        inside.update(_op_type(node) for node in _calls(module.original.graph))
    return DelegationInfo(
        num_delegated_subgraphs=len(lowered),
        num_delegated_nodes=inside.total(),
        num_non_delegated_nodes=outside.total(),
        delegation_by_operator={
            name: DelegationBreakdown(name, inside[name], outside[name])
            for name in sorted(inside | outside)
        },
    )


def print_delegation_info(graph_module: fx.GraphModule) -> None:
    """Print the totals and the table."""
    info = get_delegation_info(graph_module)
    print(info.get_summary())
    print(info.get_operator_delegation_dataframe().to_string(index=False))


def _calls(graph: fx.Graph) -> Iterator[fx.Node]:
    return (node for node in graph.nodes if node.op == "call_function")


def _is_delegate(node: fx.Node) -> bool:
    return node.target is executorch_call_delegate


def _op_type(node: fx.Node) -> str:
    """Of `aten.add.Tensor` "aten_add_tensor", as ExecuTorch names its nodes."""
    name = getattr(node.target, "__name__", str(node.target))
    if hasattr(node.target, "_schema"):
        name = str(node.target)
    return name.replace(".", "_").replace("::", "_").lower()
