"""Graphs side by side: which nodes belong together, and what was added, removed and changed."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.arguments import as_names
from etlab.errors import InvalidArgumentError
from etlab.inspect.graph import HIDDEN, GraphData, GraphNode
from etlab.inspect.table import Table

if TYPE_CHECKING:
    import pandas

MOST_GRAPHS = 6
SAME, ADDED, REMOVED, CHANGED = "same", "added", "removed", "changed"
_SHOWN_ROWS = 200


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """What became of one or several nodes from one graph to the next.

    Attributes:
        step: titles of the two graphs.
        status: same, added, removed or changed.
        before: names of the nodes in the first graph.
        after: names of the nodes in the second one.
        operators: what they call, as `conv2d -> convolution`.
        module: where they belong.
        difference: what changed, in words.
    """

    step: str
    status: str
    before: str
    after: str
    operators: str
    module: str
    difference: str = ""


@dataclass(frozen=True)
class GraphComparison:
    """Two to six graphs, joined node by node.

    Nodes belong together when they came from the same nodes of the exported graph, whatever their
    names are; one may become many, and many one. Nodes of unknown origin belong together when they
    call the same operator for the same nodes.

    Attributes:
        graphs: in the order of comparison.
        links: for every graph, the number of the family of every node; -1 for none.
        rows: one a family and step.
    """

    graphs: tuple[GraphData, ...]
    links: tuple[tuple[int, ...], ...]
    rows: Table[ComparisonRow]

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Step to status to number of families."""
        steps: dict[str, dict[str, int]] = {}
        for one, other in itertools.pairwise(self.graphs):
            steps[_step(one, other)] = dict.fromkeys((SAME, ADDED, REMOVED, CHANGED), 0)
        for row in self.rows:
            steps[row.step][row.status] += 1
        return steps

    @cached_property
    def marks(self) -> tuple[tuple[str, ...], ...]:
        """For every graph the status of every node.

        Added or changed against the graph before it, removed against the one after it, or same.
        """
        result = [[SAME] * len(graph.nodes) for graph in self.graphs]
        for place, (one, other) in enumerate(itertools.pairwise(self.graphs)):
            step = _step(one, other)
            for row in self.rows:
                if row.step != step or row.status == SAME:
                    continue
                names, graph, at = (row.before, one, place)
                if row.status != REMOVED:
                    names, graph, at = (row.after, other, place + 1)
                for name in names.split(", "):
                    result[at][graph.places[name]] = row.status
        return tuple(map(tuple, result))

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a family and step."""
        return self.rows.to_dataframe()

    def widget(self, **options: Any) -> Any:
        """A `CompareView` of this comparison; see there for the options."""
        return display.view_of(self, "CompareView", **options)

    def __repr__(self) -> str:
        """One line."""
        steps = []
        for step, counts in self.counts.items():
            said = [f"{number} {status}" for status, number in counts.items() if number]
            steps.append(f"{step}: {', '.join(said)}")
        return f"GraphComparison({'; '.join(steps)})"

    def _repr_html_(self) -> str:
        columns = ["step", SAME, ADDED, REMOVED, CHANGED]
        counts = [[step, *found.values()] for step, found in self.counts.items()]
        rows = [row for row in self.rows if row.status != SAME]
        names = ["status", "before", "after", "operators", "difference", "module"]
        shown = [[getattr(row, name) for name in names] for row in rows[:_SHOWN_ROWS]]
        grid = display.table(names, shown)
        if len(rows) > len(shown):
            grid += display.note(f"the first {len(shown)} of {len(rows)}; to_dataframe() has all")
        pictures = [
            display.svg_image(graph.to_svg(), alternative=f"graph of {graph.title}")
            for graph in self.graphs
        ]
        return display.card(
            "Comparison of graphs",
            display.table(columns, counts, numeric=columns[1:]),
            display.details(f"{len(rows)} differences", grid),
            display.details(f"{len(pictures)} pictures", "".join(pictures)),
        )

    def _ipython_display_(self) -> None:
        """In a notebook the live view (and its picture, which stays); elsewhere one line."""
        display.show_view(self)


def compare(*sources: Any, stages: Sequence[str] | None = None) -> GraphComparison:
    """Put graphs side by side.

    Args:
        sources: graphs (`run.graph(…)`) or runs, in the order of comparison.
        stages: of runs, which stages to take; by default those of one run that have a graph of
            operators, and "delegated" of several.

    Raises:
        InvalidArgumentError: fewer than two or more than six graphs, or something else than graphs.
        NotFoundError: a run has no such stage.
    """
    wanted = as_names(stages, "compare: stages") if stages is not None else None
    graphs: list[GraphData] = []
    for source in sources:
        if isinstance(source, GraphData):
            graphs.append(source)
        elif hasattr(source, "stages") and hasattr(source, "graph"):
            chosen = wanted or (_stages_of(source) if len(sources) == 1 else ("delegated",))
            graphs += [source.graph(stage) for stage in chosen]
        else:
            raise InvalidArgumentError(
                f"compare: expected graphs or runs, got {type(source).__name__}; run.graph(stage)"
                " gives a graph"
            )
    if not 2 <= len(graphs) <= MOST_GRAPHS:
        raise InvalidArgumentError(
            f"compare: expected 2 to {MOST_GRAPHS} graphs, got {len(graphs)}; stages=… chooses"
        )
    graphs = _with_own_titles(graphs)
    links = _links(graphs)
    rows = [
        row
        for place in range(len(graphs) - 1)
        for row in _rows(graphs[place], graphs[place + 1], links[place], links[place + 1])
    ]
    return GraphComparison(
        tuple(graphs), links, Table(ComparisonRow, rows, title="comparison of graphs")
    )


def _stages_of(run: Any) -> list[str]:
    return [stage for stage in run.stages if stage not in ("eager", "program")]


def _with_own_titles(graphs: Sequence[GraphData]) -> list[GraphData]:
    """The graphs, numbered where two have the same title."""
    titles = [graph.title for graph in graphs]
    return [
        graph if titles.count(graph.title) == 1 else replace(graph, title=f"{graph.title} #{place}")
        for place, graph in enumerate(graphs, 1)
    ]


def _step(one: GraphData, other: GraphData) -> str:
    return f"{one.title} → {other.title}"


def _links(graphs: Sequence[GraphData]) -> tuple[tuple[int, ...], ...]:
    """Families by shared origins: nodes with an origin in common, directly or over others.

    A node's last origin is its own; those before were merged into it. They join its family where
    nothing else of them is left in the graph: two operators of which a part was computed once are
    still two.
    """
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for graph in graphs:
        known_nodes = [node for node in graph.nodes if node.kind not in HIDDEN and node.origins]
        owners = {node.origins[-1] for node in known_nodes}
        for node in known_nodes:
            own = root(node.origins[-1])
            for other in node.origins[:-1]:
                if other not in owners:
                    parent[root(other)] = own
    numbers: dict[Any, int] = {}
    known = [
        [
            -1
            if node.kind in HIDDEN or not node.origins
            else numbers.setdefault(root(node.origins[-1]), len(numbers))
            for node in graph.nodes
        ]
        for graph in graphs
    ]
    return tuple(
        _with_unknown(graph, links, numbers) for graph, links in zip(graphs, known, strict=True)
    )


def _with_unknown(
    graph: GraphData, links: Sequence[int], numbers: dict[Any, int]
) -> tuple[int, ...]:
    """Families of nodes of unknown origin, too: by their operator and by who reads them.

    A quantizer adds such nodes: `dequantize` of a weight that `conv2d` reads is the same in every
    stage whose `conv2d` comes from the same node.
    """
    readers: dict[int, list[int]] = {}
    for producer, consumer in graph.edges:
        readers.setdefault(producer, []).append(consumer)
    found = list(links)
    waiting = [node.id for node in graph.nodes if links[node.id] < 0 and node.kind == "call"]
    while waiting:
        own = {
            place: [one for one in readers.get(place, ()) if graph.nodes[one].kind not in HIDDEN]
            for place in waiting
        }
        ready = [place for place in waiting if all(found[one] >= 0 for one in own[place])]
        for place in ready:
            family = tuple(sorted({found[one] for one in own[place]}))
            key = (graph.nodes[place].operator, family)
            if family:
                found[place] = numbers.setdefault(key, len(numbers))
        if not any(found[place] >= 0 for place in ready):
            break
        waiting = [place for place in waiting if found[place] < 0]
    return tuple(found)


def _rows(
    one: GraphData, other: GraphData, links: Sequence[int], other_links: Sequence[int]
) -> list[ComparisonRow]:
    before, after = _families(one, links), _families(other, other_links)
    step = _step(one, other)
    rows = []
    for family, nodes in before.items():
        rows.append(_row(step, nodes, after.get(family, []), is_stage=one.stage == other.stage))
    for family, nodes in after.items():
        if family not in before:
            rows.append(_row(step, [], nodes, is_stage=True))
    return rows


def _families(graph: GraphData, links: Sequence[int]) -> dict[Any, list[GraphNode]]:
    """Nodes by family; a node of unknown origin is a family of its own, by its name."""
    families: dict[Any, list[GraphNode]] = {}
    for node in graph.nodes:
        if node.kind not in HIDDEN:
            key = links[node.id] if links[node.id] >= 0 else f"{graph.title}/{node.name}"
            families.setdefault(key, []).append(node)
    return families


def _row(
    step: str, before: list[GraphNode], after: list[GraphNode], *, is_stage: bool
) -> ComparisonRow:
    difference = _difference(before, after, is_stage=is_stage) if before and after else ""
    status = CHANGED if difference else SAME
    if not before or not after:
        status = REMOVED if before else ADDED
    operators = [", ".join(dict.fromkeys(n.operator or n.kind for n in s)) for s in (before, after)]
    is_both = bool(before and after) and operators[0] != operators[1]
    return ComparisonRow(
        step=step,
        status=status,
        before=", ".join(node.name for node in before),
        after=", ".join(node.name for node in after),
        operators=" → ".join(operators) if is_both else operators[0] or operators[1],
        module=(after or before)[-1].module,
        difference=difference,
    )


def _difference(before: list[GraphNode], after: list[GraphNode], *, is_stage: bool) -> str:
    """What differs in the results of two families, in words.

    Stages have names of their own for the same operators, and one of them has no backends yet: both
    count only inside of a stage.
    """
    found = []
    if is_stage and [n.operator for n in before] != [n.operator for n in after]:
        found.append("operator")
    old, new = before[-1], after[-1]
    for label, was, now in (
        ("dtype", old.dtype, new.dtype),
        ("shape", display_shape(old), display_shape(new)),
        ("backend", old.backend or "none", new.backend or "none"),
    ):
        if was != now and (is_stage or label != "backend"):
            found.append(f"{label} {was} → {now}")
    if len(before) != len(after):
        found.append(f"{len(before)} → {len(after)} nodes")
    return ", ".join(found)


def display_shape(node: GraphNode) -> str:
    """The shape of a node's result as text."""
    return " x ".join(map(str, node.shape)) or "scalar"
