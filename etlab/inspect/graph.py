"""A graph as tables: nodes, edges and modules."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import fx

from etlab import display
from etlab.inspect.provenance import (
    bytes_of,
    module_of,
    operator_of,
    shape_of,
    source_of,
    values_of,
)

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One node.

    Attributes:
        id: place in the graph, which is the order of execution.
        name: its name in the graph.
        kind: placeholder, call_function, get_attr or output.
        operator: what it calls.
        module: path of the innermost module it belongs to.
        source: `file.py:line`.
        dtype: of its first result; empty without one.
        shape: of its first result, symbolic sizes by name.
        nbytes: of all its results; None when symbolic.
        backend: who runs it when it is delegated; empty otherwise.
    """

    id: int
    name: str
    kind: str
    operator: str
    module: str
    source: str
    dtype: str
    shape: tuple[int | str, ...]
    nbytes: int | None
    backend: str = ""


@dataclass(frozen=True, slots=True)
class GraphData:
    """Nodes in order of execution and the values that flow between them.

    Attributes:
        title: model and stage.
        nodes: in order; `id` is the place.
        edges: `(producer id, consumer id)`, once a pair.
    """

    title: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[int, int], ...]

    @property
    def operators(self) -> dict[str, int]:
        """Calls of every operator, the commonest first."""
        counts: dict[str, int] = {}
        for node in self.nodes:
            if node.kind == "call_function" and node.operator != "getitem":
                counts[node.operator] = counts.get(node.operator, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    @property
    def modules(self) -> dict[str, int]:
        """Calls inside every module path, its children's included."""
        counts: dict[str, int] = {}
        for node in self.nodes:
            if node.kind != "call_function":
                continue
            parts = node.module.split(".") if node.module else []
            for depth in range(len(parts) + 1):
                path = ".".join(parts[:depth])
                counts[path] = counts.get(path, 0) + 1
        return counts

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a node."""
        import pandas

        fields = list(GraphNode.__dataclass_fields__)
        return pandas.DataFrame(
            [{name: getattr(node, name) for name in fields} for node in self.nodes], columns=fields
        )

    def __repr__(self) -> str:
        """One line."""
        calls = sum(self.operators.values())
        return f"GraphData({self.title}: {calls} calls of {len(self.operators)} operators)"

    def _repr_html_(self) -> str:
        rows = [
            [node.name, node.operator, node.module, node.dtype, " x ".join(map(str, node.shape))]
            for node in self.nodes
            if node.kind == "call_function"
        ]
        shown = rows[:200]
        grid = display.table(["node", "operator", "module", "dtype", "shape"], shown)
        if len(rows) > len(shown):
            grid += display.note(f"the first {len(shown)} of {len(rows)}; to_dataframe() has all")
        counts = display.table(["operator", "calls"], self.operators.items(), numeric=["calls"])
        title = f"Graph of {self.title}"
        return display.card(title, counts, display.details(f"{len(rows)} calls", grid))


def graph_data(
    graph: fx.Graph, *, title: str, submodules: dict[str, Any] | None = None
) -> GraphData:
    """The tables of an fx graph; `submodules` gives delegated parts their backend."""
    nodes: list[GraphNode] = []
    edges: list[tuple[int, int]] = []
    places = {node: place for place, node in enumerate(graph.nodes)}
    for node, place in places.items():
        values = values_of(node)
        sizes = [bytes_of(value) for value in values]
        backend = ""
        if node.args and isinstance(node.args[0], fx.Node) and node.args[0].op == "get_attr":
            part = (submodules or {}).get(str(node.args[0].target))
            backend = str(getattr(part, "backend_id", ""))
        nodes.append(
            GraphNode(
                id=place,
                name=node.name,
                kind=node.op,
                operator=operator_of(node) if node.op == "call_function" else "",
                module=module_of(node),
                source=source_of(node),
                dtype=str(values[0].dtype).removeprefix("torch.") if values else "",
                shape=shape_of(values[0]) if values else (),
                nbytes=None if None in sizes else sum(size or 0 for size in sizes),
                backend=backend,
            )
        )
        edges += [(places[source], place) for source in node.all_input_nodes]
    return GraphData(title, tuple(nodes), tuple(edges))
