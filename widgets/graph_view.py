"""`GraphView`: a graph to look at, to search and to select in."""

import contextlib
from collections.abc import Iterable
from typing import Any

import anywidget
import traitlets

from etlab.errors import EtlabError, InvalidArgumentError, NotFoundError
from etlab.inspect.graph import HIDDEN, GraphData
from etlab.inspect.graph_details import node_details, source_text
from etlab.inspect.graph_overlay import Overlay, make_overlay
from etlab.inspect.graph_reports import is_report, report_values
from etlab.inspect.graph_tree import first_view
from etlab.inspect.graph_wire import encode_graph
from etlab.widgets._data_view import view_files
from etlab.widgets._page import page
from etlab.widgets._two_outputs import TwoOutputs

_MODULE, _STYLE = view_files("graph_view")
_OWN_COLOURS = ("none", "backend", "dtype", "operator", "bytes")


class GraphView(TwoOutputs, anywidget.AnyWidget):
    """A graph in a cell.

    Args:
        graph: what to show; `run.graph(stage)` gives one.
        color_by: "backend", "dtype", "operator", "bytes", "none", or the name of an overlay; by
            default the backend where there are delegates, or else the operator.
        query: what to find at first, in the language of the query box (`?` explains it).
        opened: names of the groups that are open, "all", or None: as many as read well.
        height: of the drawing in pixels.
        theme: "auto" follows the page; "light", "dark".

    Raises:
        NotFoundError: an unknown colouring or group.

    `view.selection` holds the names of what is selected; setting it selects. `view.code` is the
    Python that shows the same.
    """

    _esm = _MODULE
    _css = _STYLE

    graph = traitlets.Bytes().tag(sync=True)
    overlays = traitlets.Dict().tag(sync=True)
    color_by = traitlets.Unicode("none").tag(sync=True)
    query = traitlets.Unicode("").tag(sync=True)
    selection = traitlets.List(traitlets.Unicode()).tag(sync=True)
    opened = traitlets.List(traitlets.Unicode()).tag(sync=True)
    code = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(520, min=120, max=4000).tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    def __init__(
        self,
        graph: GraphData,
        *,
        color_by: str | None = None,
        query: str = "",
        opened: str | Iterable[str] | None = None,
        height: int = 520,
        theme: str = "auto",
    ) -> None:
        if not isinstance(graph, GraphData):
            raise InvalidArgumentError(
                f"GraphView: expected a GraphData, got {type(graph).__name__};"
                " run.graph() gives one"
            )
        self.data = graph
        self._first_opened = first_view(graph)
        self._overlays: dict[str, Overlay] = {}
        if color_by is None:
            color_by = "backend" if any(node.backend for node in graph.nodes) else "operator"
        super().__init__(
            graph=encode_graph(graph),
            color_by=color_by,
            query=query,
            opened=_opened(graph, opened, self._first_opened),
            height=height,
            theme=theme,
        )
        self.on_msg(self._answer)
        self.observe(lambda _: self._write_code(), ("color_by", "query", "opened"))
        self._write_code()

    def _write_code(self) -> None:
        options = {"color_by": self.color_by, "query": self.query, "opened": list(self.opened)}
        if self.opened == self._first_opened:
            del options["opened"]
        if self.color_by in self._overlays:
            del options["color_by"]  # an overlay's values are not in the code
        said = ", ".join(f"{name}={value!r}" for name, value in options.items() if value != "")
        made = f"run.graph({self.data.stage!r})" if self.data.stage else "graph"
        self.code = f"{made}.widget({said})"

    def overlay(
        self,
        values: Any,
        *,
        name: str | None = None,
        unit: str = "",
        combine: str = "sum",
        scale: str = "linear",
        map: str = "magnitude",
        path: str = "native",
        metric: str = "sqnr_db",
        local: bool = False,
    ) -> Overlay:
        """Colour by numbers or classes of your own, or by what a report says of every operator.

        Args:
            values: a pandas Series or a mapping; the keys are names of nodes, of delegates, or of
                nodes of the exported graph, which colour all that was made from them. Or a report:
                `run.parity()` for closeness, `run.profile()` or `run.delegation(runs=5)` for
                latency.
            name: for the picker and the legend; the Series' or report's own by default.
            unit: of numbers; "s" and "B" are written with prefixes.
            combine: how a closed group answers for its nodes: "sum", "min", "max" or "mean".
            scale: "linear" or "log".
            map: "magnitude", or "signed" for numbers around zero.
            path: of a parity report.
            metric: of a parity report.
            local: of a parity report: what an operator alone adds, not what has come together.

        Returns:
            The overlay; `unmatched` names the keys that are no nodes.
        """
        title = str(name or getattr(values, "name", None) or "values")
        if is_report(values):
            said = report_values(values, path=path, metric=metric, local=local)
            values, unit, combine, title = said.values, said.unit, said.combine, name or said.name
        made = make_overlay(
            self.data, values, name=title, unit=unit, combine=combine, scale=scale, map=map
        )
        self._overlays[title] = made
        self.overlays = {**self.overlays, title: made.to_wire()}
        self.color_by = title
        return made

    def focus(self, name: str) -> None:
        """Select a node or group and bring it into sight.

        Raises:
            NotFoundError: nothing is called so.
        """
        if name not in self.data.places and all(one.name != name for one in self.data.groups):
            raise NotFoundError(f"{self.data.title}: no node or group is called {name!r}")
        self.selection = [name]

    @traitlets.validate("color_by")
    def _check_colouring(self, proposal: Any) -> str:
        name = str(proposal["value"])
        known = [*_OWN_COLOURS, *self._overlays]
        if name not in known:
            raise NotFoundError(f"color_by: no colouring {name!r}; choose from {', '.join(known)}")
        return name

    def _answer(self, _: Any, message: Any, __: Any) -> None:
        """Answer a question of the page; what it may ask for is part of the graph."""
        kind = message.get("type") if isinstance(message, dict) else None
        with contextlib.suppress(EtlabError):
            if kind == "details":
                node = str(message.get("node"))
                rows = [list(row) for row in node_details(self.data, node)]
                self.send({"type": "details", "node": node, "rows": rows})
            elif kind == "source":
                text = source_text(self.data, str(message.get("source")))
                self.send({"type": "source", "text": text})
            elif kind == "picture":
                self.send({"id": message.get("id")}, buffers=[self.to_png()])

    def to_html(self) -> str:
        """The view as a page of its own, live but without a kernel, asking no network."""
        names = ("graph", "overlays", "color_by", "query", "selection", "opened", "code", "height")
        state = {name: getattr(self, name) for name in (*names, "theme")}
        return page(self.data.title, _MODULE, _STYLE, state, self._answers())

    def _answers(self) -> dict[str, Any]:
        """What the kernel would say of nodes; sources are left out, they are not the page's own."""
        details = {
            f"details {node.name}": {
                "type": "details",
                "node": node.name,
                "rows": [list(row) for row in node_details(self.data, node.name)],
            }
            for node in self.data.nodes
            if node.kind not in HIDDEN
        }
        files = sorted({node.source.rpartition(":")[0] for node in self.data.nodes})
        problem = "This page holds no source."
        texts = [{"name": file, "first": 0, "lines": [], "problem": problem} for file in files]
        return details | {
            f"source {text['name']}": {"type": "source", "text": text} for text in texts
        }

    def to_svg(self) -> str:
        """The picture of what is open."""
        return self.data.to_svg(self.opened)

    def to_png(self, *, scale: float = 2.0) -> bytes:
        """The picture of what is open as PNG, `scale` pixels a unit."""
        return self.data.to_png(self.opened, scale=scale)

    def _snapshot_html(self) -> str:
        return self.data._repr_html_()

    def __repr__(self) -> str:
        """One line, the same for the same graph."""
        return f"GraphView({self.data.title})"


def _opened(graph: GraphData, opened: str | Iterable[str] | None, first: list[str]) -> list[str]:
    names = [group.name for group in graph.groups[1:]]
    if opened is None:
        return first
    if opened == "all":
        return names
    wanted = [opened] if isinstance(opened, str) else list(opened)
    if unknown := [name for name in wanted if name not in set(names)]:
        raise NotFoundError(f"{graph.title}: no group is called {', '.join(map(repr, unknown))}")
    return wanted
