"""`%etgraph`: a stage of a run, or a program, as a graph."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab import display
from etlab.inspect.graph import GraphData
from etlab.magics.subjects import run_or_program
from etlab.magics.support import (
    as_call,
    check_name,
    common_options,
    evaluate,
    finish,
    one_line_errors,
    text_of,
)
from etlab.run import STAGES, ExportRun


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """A graph's picture, which needs no kernel.

    Attributes:
        graph: what it shows.
        opened: names of the groups that are open; None for as many as read well.
    """

    graph: GraphData
    opened: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        """One line."""
        return repr(self.graph)

    def _repr_html_(self) -> str:
        picture = self.graph.to_svg(self.opened)
        return display.svg_image(picture, alternative=f"graph of {self.graph.title}")


@magics_class
class GraphMagics(Magics):
    """`%etgraph`."""

    @magic_arguments()
    @argument("subject", nargs="*", help="RUN, RUN.STAGE, a graph, or the path of a .pte file")
    @argument("--color-by", metavar="WHAT", help="backend, dtype, operator, bytes or none")
    @argument("--filter", nargs="+", metavar="QUERY", help="what to find: op:conv dtype:int8")
    @argument("--depth", type=int, metavar="N", help="open groups down to this level; 0: none")
    @argument("--height", type=int, metavar="PX", help="of the drawing")
    @argument("--static", action="store_true", help="a picture instead of the live view")
    @common_options
    @line_magic
    def etgraph(self, line: str) -> Any:
        """Show the graph of a stage.

        `%etgraph run.aten --filter op:conv`, `%etgraph model.pte --static`. Gives a `GraphView`,
        whose `.selection` is what you selected, or a picture.
        """
        arguments = parse_argstring(self.etgraph, line)
        name = check_name(arguments.name)
        with one_line_errors("etgraph", "call run.graph yourself for the traceback"):
            code, graph = self._graph(arguments.subject)
            query = text_of(arguments.filter)
            opened = None
            if arguments.depth is not None:
                opened = groups_to_depth(graph, arguments.depth)
            if arguments.static:
                result: Any = GraphPicture(graph, None if opened is None else tuple(opened))
                call = f"{code}.to_svg({'' if opened is None else repr(opened)})"
                return finish(self.shell, result, call, name=name, print_code=arguments.print_code)
            given: dict[str, Any] = {
                "color_by": arguments.color_by,
                "query": query,
                "opened": opened,
                "height": arguments.height,
            }
            given = {key: value for key, value in given.items() if value is not None}
            view = graph.widget(**given)
            call = as_call(f"{code}.widget", [], {key: repr(value) for key, value in given.items()})
        return finish(
            self.shell,
            view,
            f"{name or 'view'} = {call}",
            name=name,
            print_code=arguments.print_code,
        )

    def _graph(self, parts: list[str]) -> tuple[str, GraphData]:
        """A graph, and the Python that gives it."""
        text = text_of(parts)
        before, _, stage = (text or "").rpartition(".")
        if text is not None and before and stage in STAGES:
            run = evaluate(self.shell, before, "etgraph")
            if isinstance(run, ExportRun):
                return f"{before}.graph({stage!r})", run.graph(stage)
        if text is not None and not text.endswith(".pte"):
            value = evaluate(self.shell, text, "etgraph")
            if isinstance(value, GraphData):
                return text, value
        text, subject = run_or_program(self.shell, parts, "etgraph")
        if not hasattr(subject, "graph"):
            raise UsageError(f"etgraph: {text} has no graph")
        return f"{text}.graph()", subject.graph()


def groups_to_depth(graph: GraphData, depth: int) -> list[str]:
    """Names of the groups that are open when all down to a level are; 0 opens none."""
    levels = [0]
    for group in graph.groups[1:]:
        levels.append(levels[group.parent] + 1)
    pairs: Iterable[tuple[Any, int]] = zip(graph.groups, levels, strict=True)
    return [group.name for group, level in pairs if 0 < level <= depth]


MAGICS = GraphMagics
