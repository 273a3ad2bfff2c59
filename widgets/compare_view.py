"""`CompareView`: graphs side by side, joined node by node."""

import itertools
from typing import Any

import anywidget
import numpy as np
import traitlets

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.inspect.graph_compare import ADDED, CHANGED, REMOVED, SAME, GraphComparison
from etlab.inspect.graph_tree import first_view
from etlab.inspect.graph_wire import encode_graph
from etlab.widgets._data_view import view_files
from etlab.widgets._page import page
from etlab.widgets._two_outputs import TwoOutputs

_MODULE, _STYLE = view_files("compare_view", styles=("graph_view", "compare_view"))
_COLOURS = ("none", "backend", "dtype", "operator", "bytes")
_CODES = {SAME: 0, ADDED: 1, REMOVED: 2, CHANGED: 3}
_MOST_LISTED = 500


class CompareView(TwoOutputs, anywidget.AnyWidget):
    """Two to six graphs in a cell; what is selected or looked at in one is shown in all.

    Args:
        comparison: what to show; `etlab.compare(…)` gives one.
        color_by: "backend", "dtype", "operator", "bytes" or "none".
        height: of the drawings in pixels.
        theme: "auto" follows the page; "light", "dark".

    Raises:
        NotFoundError: an unknown colouring.

    `view.selection` holds, for every graph, the names of the nodes that belong to what is selected.
    """

    _esm = _MODULE
    _css = _STYLE

    graphs = traitlets.List(traitlets.Bytes()).tag(sync=True)
    titles = traitlets.List(traitlets.Unicode()).tag(sync=True)
    links = traitlets.List(traitlets.Bytes()).tag(sync=True)
    marks = traitlets.List(traitlets.Bytes()).tag(sync=True)
    differences = traitlets.List(traitlets.Dict()).tag(sync=True)
    opened = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    selection = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    color_by = traitlets.Unicode("backend").tag(sync=True)
    height = traitlets.Int(560, min=120, max=4000).tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    def __init__(
        self,
        comparison: GraphComparison,
        *,
        color_by: str = "backend",
        height: int = 560,
        theme: str = "auto",
    ) -> None:
        if not isinstance(comparison, GraphComparison):
            raise InvalidArgumentError(
                f"CompareView: expected a GraphComparison, got {type(comparison).__name__};"
                " etlab.compare(…) gives one"
            )
        self.data = comparison
        super().__init__(
            graphs=[encode_graph(graph) for graph in comparison.graphs],
            titles=[graph.title for graph in comparison.graphs],
            links=[np.array(links, np.int32).tobytes() for links in comparison.links],
            marks=[
                np.array([_CODES[mark] for mark in marks], np.uint8).tobytes()
                for marks in comparison.marks
            ],
            differences=_differences(comparison),
            opened=[first_view(graph, most=40) for graph in comparison.graphs],
            color_by=color_by,
            height=height,
            theme=theme,
        )

    def focus(self, name: str) -> None:
        """Select a node, and what belongs to it, by its name in any of the graphs.

        Raises:
            NotFoundError: no graph has such a node.
        """
        for graph, links in zip(self.data.graphs, self.data.links, strict=True):
            if name in graph.places:
                family = links[graph.places[name]]
                self.selection = [
                    self._names(place, family) if family >= 0 else [name] * (one is graph)
                    for place, one in enumerate(self.data.graphs)
                ]
                return
        raise NotFoundError(f"none of the graphs has a node called {name!r}")

    def _names(self, place: int, family: int) -> list[str]:
        graph, links = self.data.graphs[place], self.data.links[place]
        return [node.name for node in graph.nodes if links[node.id] == family]

    @traitlets.validate("color_by")
    def _check_colouring(self, proposal: Any) -> str:
        name = str(proposal["value"])
        if name not in _COLOURS:
            raise NotFoundError(
                f"color_by: no colouring {name!r}; choose from {', '.join(_COLOURS)}"
            )
        return name

    def to_html(self) -> str:
        """The view as a page of its own, live but without a kernel, asking no network."""
        names = ("graphs", "titles", "links", "marks", "differences", "opened", "selection")
        own = {name: getattr(self, name) for name in (*names, "color_by", "height", "theme")}
        return page("Comparison of graphs", _MODULE, _STYLE, own, {})

    def _snapshot_html(self) -> str:
        return self.data._repr_html_()

    def __repr__(self) -> str:
        """One line, the same for the same comparison."""
        return f"CompareView({', '.join(graph.title for graph in self.data.graphs)})"


def _differences(comparison: GraphComparison) -> list[dict[str, Any]]:
    """What the list of the view says; where it is found: number of a graph, name of a node."""
    titles = [graph.title for graph in comparison.graphs]
    steps = {f"{a} → {b}": k for k, (a, b) in enumerate(itertools.pairwise(titles))}
    listed: list[dict[str, Any]] = []
    for row in comparison.rows:
        if row.status == SAME or len(listed) == _MOST_LISTED:
            continue
        is_before = row.status == REMOVED
        place = steps[row.step] + (0 if is_before else 1)
        name = (row.before if is_before else row.after).split(", ")[0]
        said = f"{row.before or row.after}: {row.difference or row.status}"
        listed.append({"status": row.status, "text": said, "at": [place, name]})
    return listed
