"""Reads a `DelegationReport` from a partitioned edge graph."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from etlab.exir.graph import REASONS, is_getitem
from etlab.exir.partition.reasons import split_reason
from etlab.exir.provenance import (
    bytes_of,
    module_of,
    operator_of,
    shape_of,
    source_line,
    values_of,
)
from etlab.inspect.costs import bytes_at_example, bytes_of_call, flops_of_call
from etlab.inspect.delegation import OWN_KERNELS, DelegationReport
from etlab.inspect.delegation_rows import Border, Call, DelegatedPart
from etlab.inspect.estimates import cycles_by_node, estimates_in
from etlab.inspect.table import Table

if TYPE_CHECKING:
    from etlab.exir.edge import EdgeGraph

NO_PARTITIONER = "no partitioner was asked to take it"
_CHOOSE = "choose one of etlab.list_partitioners()"
_SILENT = "the partitioner did not take it and gave no reason"


def delegation_report(
    graph: "EdgeGraph",
    *,
    model: str,
    partitioner: str,
    seconds: Mapping[str, float] | None = None,
    runs: int = 0,
) -> DelegationReport:
    """Read a partitioned edge graph.

    Args:
        graph: after partitioning.
        model: its name.
        partitioner: its name, "none" without.
        seconds: measured time by node.
        runs: how often it was measured.
    """
    calls: list[Call] = []
    parts: list[DelegatedPart] = []
    for node in graph.graph.nodes:
        if node.op != "call_function" or is_getitem(node):
            continue
        lowered = _lowered_part(graph, node)
        # A call without an instruction, such as a view that shares memory, takes no time.
        measured = None if seconds is None else seconds.get(node.name, 0.0)
        if lowered is None:
            calls.append(_own_call(node, partitioner, measured))
            continue
        name = str(node.all_input_nodes[0].target)
        inside = list(_calls_in(lowered, name))
        calls += inside
        parts.append(_part(node, name, lowered, inside, measured))
    return DelegationReport(
        model,
        partitioner,
        Table(Call, calls, title=f"calls of {model}"),
        tuple(parts),
        Table(Border, _borders(graph), title=f"tensors at the borders of {model}'s delegates"),
        runs,
        estimates_in(graph, model),
    )


def _lowered_part(graph: "EdgeGraph", node: fx.Node) -> Any:
    if not node.args or not isinstance(node.args[0], fx.Node) or node.args[0].op != "get_attr":
        return None
    part = graph.submodules.get(str(node.args[0].target))
    return part if hasattr(part, "backend_id") else None


def _own_call(node: fx.Node, partitioner: str, seconds: float | None) -> Call:
    reason, help_text = _reason(node, partitioner)
    return _call(node, "", "", reason=reason, help_text=help_text, seconds=seconds)


def _reason(node: fx.Node, partitioner: str) -> tuple[str, str]:
    """Why a node stayed and what would help; where several partitioners spoke, with their names."""
    said = node.meta.get(REASONS, {})
    if not said:
        return (NO_PARTITIONER, _CHOOSE) if partitioner == "none" else (_SILENT, "")
    pairs = {who: split_reason(str(text)) for who, text in said.items()}
    if len(pairs) == 1:
        return next(iter(pairs.values()))
    return (
        "; ".join(f"{who}: {why}" for who, (why, _) in pairs.items()),
        "; ".join(f"{who}: {text}" for who, (_, text) in pairs.items() if text),
    )


def _kind(reason: str, node: fx.Node) -> str:
    """A reason that fits other calls, too: "nothing like it", "its input is int64"."""
    for other in (node, *node.all_input_nodes, *node.users):
        reason = reason.replace(f" '{other.name}'", "")
    return reason.replace(str(node.target), "it")


def _calls_in(lowered: Any, part: str) -> Iterator[Call]:
    cycles = cycles_by_node(lowered)
    for node in lowered.original.graph.nodes:
        if node.op == "call_function" and not is_getitem(node):
            yield _call(node, lowered.backend_id, part, cycles=cycles.get(node.name))


def _call(
    node: fx.Node,
    backend: str,
    part: str,
    *,
    reason: str = "",
    help_text: str = "",
    seconds: float | None = None,
    cycles: int | None = None,
) -> Call:
    source, line = source_line(node)
    return Call(
        node=node.name,
        operator=operator_of(node),
        backend=backend,
        part=part,
        module=module_of(node),
        source=source,
        line=line,
        reason=reason,
        kind=_kind(reason, node),
        help=help_text,
        nbytes=bytes_of_call(node),
        flops=flops_of_call(node),
        seconds=seconds,
        cycles=cycles,
    )


def _part(
    node: fx.Node, name: str, lowered: Any, calls: list[Call], seconds: float | None
) -> DelegatedPart:
    counts: dict[str, int] = {}
    for call in calls:
        counts[call.operator] = counts.get(call.operator, 0) + 1
    inputs = [value for source in node.all_input_nodes[1:] for value in values_of(source)]
    return DelegatedPart(
        name=name,
        backend=lowered.backend_id,
        operators=dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
        nodes=tuple(call.node for call in calls),
        bytes_in=_total(inputs),
        bytes_out=_total(values_of(node)),
        payload=len(lowered.processed_bytes),
        seconds=seconds,
    )


def _total(values: Iterable[torch.Tensor]) -> int | None:
    sizes = [bytes_of(value) for value in values]
    return None if None in sizes else sum(size or 0 for size in sizes)


def _borders(graph: "EdgeGraph") -> list[Border]:
    """One row a tensor, in order of their making."""
    parts = {
        node: str(node.args[0].target)
        for node in graph.graph.nodes
        if node.op == "call_function" and _lowered_part(graph, node) is not None
    }
    names = set(parts.values())
    constants = {spec.arg.name for spec in graph.inputs if spec.target is not None}
    rows = []
    for node in graph.graph.nodes:
        if node in parts or not isinstance(node.meta.get("val"), torch.Tensor):
            continue
        maker = _maker(node, parts, constants)
        users = dict.fromkeys(
            "output" if user.op == "output" else parts.get(user, OWN_KERNELS) for user in node.users
        )
        if maker not in names and names.isdisjoint(users):
            continue
        value = node.meta["val"]
        rows.append(
            Border(
                node.name,
                maker,
                ", ".join(users),
                shape_of(value),
                str(value.dtype).removeprefix("torch."),
                bytes_at_example(value),
            )
        )
    return rows


def _maker(node: fx.Node, parts: Mapping[fx.Node, str], constants: set[str]) -> str:
    if node.op == "placeholder":
        return "constant" if node.name in constants else "input"
    source = node.all_input_nodes[0] if is_getitem(node) else node
    return parts.get(source, OWN_KERNELS)
