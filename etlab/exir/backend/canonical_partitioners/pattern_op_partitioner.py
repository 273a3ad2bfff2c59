"""Groups of nodes that match patterns, or that a backend supports one by one."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import fx
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from torch.fx.passes.operator_support import OperatorSupportBase, any_chain
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["generate_pattern_op_partitions"]


class _Matched(OperatorSupportBase):
    """Supports the nodes that were found in patterns."""

    def __init__(self, nodes: set[fx.Node]) -> None:
        self._nodes = nodes

    def is_node_supported(self, submodules: Mapping[str, Any], node: fx.Node) -> bool:
        return node in self._nodes


def generate_pattern_op_partitions(
    graph_module: fx.GraphModule,
    patterns: Sequence[fx.Graph] | None = None,
    op_support: OperatorSupportBase | None = None,
) -> list[Partition]:
    """Group what matches patterns and what is supported, in groups as large as possible.

    Args:
        graph_module: what to look through.
        patterns: graphs whose placeholders match anything.
        op_support: says of single nodes whether they are supported.
    """
    matched: set[fx.Node] = set()
    for pattern in patterns or ():
        for match in SubgraphMatcher(pattern, ignore_literals=True).match(graph_module.graph):
            outside = {*match.placeholder_nodes}
            matched.update(node for node in match.nodes_map.values() if node not in outside)
    calls = {node for node in matched if isinstance(node, fx.Node) and node.op == "call_function"}
    supports = [_Matched(calls), *([op_support] if op_support is not None else [])]
    partitioner = CapabilityBasedPartitioner(
        graph_module, any_chain(*supports), allows_single_node_partition=True
    )
    return list(partitioner.propose_partitions())
