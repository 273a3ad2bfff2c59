"""What was given to backends, and why the rest was not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import fx

from etlab import display
from etlab.inspect.provenance import bytes_of, module_of, operator_of, source_of, values_of

if TYPE_CHECKING:
    import pandas

    from etlab.exir.edge import EdgeGraph

NO_PARTITIONER = "no partitioner was asked to take it"
_SILENT = "the partitioner did not take it and gave no reason"


@dataclass(frozen=True, slots=True)
class DelegatedPart:
    """One subgraph that a backend runs.

    Attributes:
        name: of the part in the graph.
        backend: who runs it.
        operators: operator to number of calls, the commonest first.
        nodes: names of its nodes.
        bytes_in: of the tensors that cross into it; None when a size is symbolic.
        bytes_out: of the tensors that come back.
        payload: bytes that the backend made of it.
    """

    name: str
    backend: str
    operators: Mapping[str, int]
    nodes: tuple[str, ...]
    bytes_in: int | None
    bytes_out: int | None
    payload: int


@dataclass(frozen=True, slots=True)
class RejectedNode:
    """One call that our own kernels run.

    Attributes:
        node: its name.
        operator: what it calls.
        module: path of its module.
        source: `file.py:line`.
        reason: why no backend took it.
    """

    node: str
    operator: str
    module: str
    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class DelegationReport:
    """Delegated parts and the calls that stayed.

    Attributes:
        model: its name.
        partitioner: its name, "none" without.
        parts: delegated subgraphs in order of execution.
        rejected: the other calls, every one with a reason.
    """

    model: str
    partitioner: str
    parts: tuple[DelegatedPart, ...]
    rejected: tuple[RejectedNode, ...]

    @property
    def delegated_calls(self) -> int:
        """Calls inside delegated parts."""
        return sum(sum(part.operators.values()) for part in self.parts)

    @property
    def coverage(self) -> float:
        """Share of calls that a backend runs."""
        total = self.delegated_calls + len(self.rejected)
        return self.delegated_calls / total if total else 0.0

    @property
    def by_op(self) -> dict[str, tuple[int, int]]:
        """Operator to (delegated, not delegated) calls."""
        counts: dict[str, list[int]] = {}
        for part in self.parts:
            for name, count in part.operators.items():
                counts.setdefault(name, [0, 0])[0] += count
        for one in self.rejected:
            counts.setdefault(one.operator, [0, 0])[1] += 1
        return {name: (pair[0], pair[1]) for name, pair in sorted(counts.items())}

    @property
    def borders(self) -> tuple[tuple[str, int | None, int | None], ...]:
        """Part, bytes in and bytes out: what crossing into backends costs."""
        return tuple((part.name, part.bytes_in, part.bytes_out) for part in self.parts)

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a call: delegated ones with their part, others with their reason."""
        import pandas

        rows: list[dict[str, Any]] = [
            {"node": node, "delegated": True, "part": part.name, "backend": part.backend}
            for part in self.parts
            for node in part.nodes
        ]
        rows += [
            {
                "node": one.node,
                "delegated": False,
                "operator": one.operator,
                "module": one.module,
                "source": one.source,
                "reason": one.reason,
            }
            for one in self.rejected
        ]
        columns = ["node", "delegated", "part", "backend", "operator", "module", "source", "reason"]
        return pandas.DataFrame(rows, columns=columns)

    def _summary(self) -> str:
        total = self.delegated_calls + len(self.rejected)
        return (
            f"{self.delegated_calls} of {total} calls delegated in {len(self.parts)} "
            f"part{'' if len(self.parts) == 1 else 's'}"
        )

    def __repr__(self) -> str:
        """One line."""
        return f"DelegationReport({self.model}, {self.partitioner}: {self._summary()})"

    def _repr_html_(self) -> str:
        parts = [
            [
                part.name,
                part.backend,
                ", ".join(f"{name} {count}" for name, count in part.operators.items()),
                _bytes(part.bytes_in),
                _bytes(part.bytes_out),
                _bytes(part.payload),
            ]
            for part in self.parts
        ]
        reasons: dict[tuple[str, str], int] = {}
        for one in self.rejected:
            key = (one.reason, one.operator)
            reasons[key] = reasons.get(key, 0) + 1
        rest = [
            [operator, str(count), reason]
            for (reason, operator), count in sorted(reasons.items(), key=lambda item: -item[1])
        ]
        columns = ["part", "backend", "operators", "in", "out", "payload"]
        grid = display.table(columns, parts, numeric=columns[3:]) if parts else ""
        kept = display.table(["operator", "calls", "why it stayed"], rest, numeric=["calls"])
        title = f"Delegation of {self.model}"
        return display.card(
            title,
            grid,
            display.details(f"{len(self.rejected)} calls stay with our kernels", kept),
            subtitle=f"partitioner {self.partitioner}: {self._summary()}",
        )


def _bytes(count: int | None) -> str:
    return "dynamic" if count is None else display.format_bytes(count)


def delegation_report(graph: "EdgeGraph", *, model: str, partitioner: str) -> DelegationReport:
    """Read a partitioned edge graph.

    Args:
        graph: after partitioning.
        model: its name.
        partitioner: its name, "none" without.
    """
    parts: list[DelegatedPart] = []
    rejected: list[RejectedNode] = []
    for node in graph.graph.nodes:
        if node.op != "call_function" or operator_of(node) == "getitem":
            continue
        lowered = _lowered_part(graph, node)
        if lowered is not None:
            parts.append(_part(node, lowered))
            continue
        said = node.meta.get("delegation_reasons", {})
        reason = "; ".join(f"{who}: {why}" for who, why in said.items())
        if not reason:
            reason = NO_PARTITIONER if partitioner == "none" else _SILENT
        rejected.append(
            RejectedNode(
                node.name, operator_of(node), module_of(node), source_of(node), str(reason)
            )
        )
    return DelegationReport(model, partitioner, tuple(parts), tuple(rejected))


def _lowered_part(graph: "EdgeGraph", node: fx.Node) -> Any:
    if not node.args or not isinstance(node.args[0], fx.Node) or node.args[0].op != "get_attr":
        return None
    part = graph.submodules.get(str(node.args[0].target))
    return part if hasattr(part, "backend_id") else None


def _part(node: fx.Node, lowered: Any) -> DelegatedPart:
    calls = [
        inner
        for inner in lowered.original.graph.nodes
        if inner.op == "call_function" and operator_of(inner) != "getitem"
    ]
    counts: dict[str, int] = {}
    for inner in calls:
        counts[operator_of(inner)] = counts.get(operator_of(inner), 0) + 1
    inputs = [value for source in node.all_input_nodes[1:] for value in values_of(source)]
    return DelegatedPart(
        name=str(node.all_input_nodes[0].target),
        backend=lowered.backend_id,
        operators=dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
        nodes=tuple(inner.name for inner in calls),
        bytes_in=_total(inputs),
        bytes_out=_total(values_of(node)),
        payload=len(lowered.processed_bytes),
    )


def _total(values: list[Any]) -> int | None:
    sizes = [bytes_of(value) for value in values]
    return None if None in sizes else sum(size or 0 for size in sizes)
