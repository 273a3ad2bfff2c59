"""A graph as tables: nodes, the values that flow between them, and the tree they stand in."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import NotFoundError

if TYPE_CHECKING:
    import pandas

CALLS = ("call", "delegate", "module")
# Not drawn on their own: weights, picked results, and calls of delegates whose content is drawn.
HIDDEN = ("state", "pick", "delegate")
_SHOWN_ROWS = 200


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One node.

    Attributes:
        id: place in the graph, which is the order of execution.
        name: its name, unique in the graph.
        kind: input, state (weight, buffer, constant), call, delegate (a call of a delegate or of
            bodies of control flow whose content is known), module, pick (one of several results)
            or output.
        operator: what it calls; the class of a module; empty otherwise.
        module: path of the innermost module it belongs to.
        source: `file.py:line`.
        dtype: of its first result; empty without one.
        shape: of its first result, symbolic sizes by name.
        nbytes: of all its results; None when symbolic.
        backend: who runs it when it is delegated; empty otherwise.
        part: the delegate or body of control flow that it stands in; empty outside.
        origins: names of the nodes of the exported graph that it came from, "quantized/<name>" for
            nodes that a quantizer added: what joins the stages.
        group: number of the group it stands in.
        file: full path of the source file.
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
    part: str = ""
    origins: tuple[str, ...] = ()
    group: int = 0
    file: str = ""


@dataclass(frozen=True, slots=True)
class GraphGroup:
    """A box that holds nodes and other groups.

    Attributes:
        id: its number; 0 is the whole graph.
        parent: number of the group around it; -1 for the whole graph.
        kind: model, module, delegate, body, fold (equal blocks in a row) or section (a stretch of a
            graph that has no modules to show).
        name: unique, such as `blocks.3` or `lowered_module_0/blocks.3`.
        label: what stands on the box.
        type: class of a module, backend of a delegate, operator of a body, `12 x Block` of a fold.
        call: id of the node that runs a delegate or body; -1 otherwise.
    """

    id: int
    parent: int
    kind: str
    name: str
    label: str
    type: str = ""
    call: int = -1


@dataclass(frozen=True)
class GraphData:
    """Nodes in order of execution, the values between them, and the groups they stand in.

    What stands inside of a delegate comes right before the call of the delegate.

    Attributes:
        title: model and stage.
        nodes: in order; `id` is the place.
        edges: `(producer id, consumer id)`, once a pair, in order of the consumers. A delegate with
            known content has its own edges and those of what stands inside.
        groups: parents before children; `groups[0]` is the whole graph.
        stage: name of the stage, empty for other graphs.
        handles: the fx nodes (None where there are none), for details.
    """

    title: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[int, int], ...]
    groups: tuple[GraphGroup, ...]
    stage: str = ""
    handles: tuple[Any, ...] = field(default=(), repr=False, compare=False)

    @property
    def operators(self) -> dict[str, int]:
        """Calls of every operator, the commonest first; a delegate counts as one call."""
        counts: dict[str, int] = {}
        for node in self.nodes:
            if node.kind in CALLS and not node.part:
                counts[node.operator] = counts.get(node.operator, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    @property
    def modules(self) -> dict[str, int]:
        """Calls inside every module path, its children's and the delegated ones included."""
        counts: dict[str, int] = {}
        for node in self.nodes:
            if node.kind not in ("call", "module"):
                continue
            parts = node.module.split(".") if node.module else []
            for depth in range(len(parts) + 1):
                path = ".".join(parts[:depth])
                counts[path] = counts.get(path, 0) + 1
        return counts

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Node name to id."""
        return {node.name: node.id for node in self.nodes}

    def node(self, name: str) -> GraphNode:
        """A node by name.

        Raises:
            NotFoundError: there is none.
        """
        if name not in self.places:
            raise NotFoundError(
                f"{self.title}: no node is called {name!r}; graph.select(query) finds nodes"
            )
        return self.nodes[self.places[name]]

    def select(self, query: str) -> list[str]:
        """Names of the nodes that a query finds, such as `op:conv dtype:int8 not delegated`.

        Raises:
            InvalidArgumentError: the query can't be understood; the message says why.
        """
        from etlab.inspect.graph_query import select_nodes

        return select_nodes(self, query)

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a node."""
        import pandas

        fields = list(GraphNode.__dataclass_fields__)
        return pandas.DataFrame(
            [{name: getattr(node, name) for name in fields} for node in self.nodes], columns=fields
        )

    def to_svg(self, opened: Iterable[str] | None = None) -> str:
        """A picture of the graph, the same for the same graph.

        Args:
            opened: names of the groups that are open; by default as many as read well.
        """
        from etlab.inspect.graph_picture import graph_svg

        return graph_svg(self, opened)

    def to_png(self, opened: Iterable[str] | None = None, *, scale: float = 2.0) -> bytes:
        """The same picture as PNG, made without a browser.

        Args:
            opened: names of the groups that are open; by default as many as read well.
            scale: pixels a unit; less where the picture would be larger than 16 million pixels.
        """
        from etlab.inspect.graph_png import graph_png

        return graph_png(self, opened, scale=scale)

    def __repr__(self) -> str:
        """One line."""
        calls = sum(self.operators.values())
        return f"GraphData({self.title}: {calls} calls of {len(self.operators)} operators)"

    def _repr_html_(self) -> str:
        calls = [node for node in self.nodes if node.kind in CALLS]
        rows = [
            [node.name, node.operator, node.module, node.dtype, " x ".join(map(str, node.shape))]
            for node in calls[:_SHOWN_ROWS]
        ]
        grid = display.table(["node", "operator", "module", "dtype", "shape"], rows)
        if len(calls) > len(rows):
            grid += display.note(f"the first {len(rows)} of {len(calls)}; to_dataframe() has all")
        counts = display.table(["operator", "calls"], self.operators.items(), numeric=["calls"])
        title = f"Graph of {self.title}"
        return display.card(
            title,
            display.svg_image(self.to_svg(), alternative=f"graph of {self.title}"),
            display.details(f"{len(self.operators)} operators", counts),
            display.details(f"{len(calls)} calls", grid),
        )

    def widget(self, **options: Any) -> Any:
        """A `GraphView` of this graph; see there for the options."""
        return display.view_of(self, "GraphView", **options)

    def _ipython_display_(self) -> None:
        """In a notebook the live view (and its picture, which stays); elsewhere one line."""
        display.show_view(self)
