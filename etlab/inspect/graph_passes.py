"""What the compiler's passes do to a graph, one after the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import InvalidArgumentError
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import copy_edge_graph
from etlab.exir.passes.pipeline import EMISSION_PASSES, run_passes
from etlab.exir.stages import StageListener, listen
from etlab.inspect.graph import GraphData
from etlab.inspect.graph_compare import GraphComparison, compare
from etlab.inspect.graph_fx import read_graph
from etlab.inspect.graph_stages import exported_origins
from etlab.inspect.graph_tree import assemble
from etlab.inspect.table import Table

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class PassStep:
    """One pass that changed the graph.

    Attributes:
        step: its number, from 1.
        name: of the pass.
        removed: operators of which there are fewer afterwards, with how many.
        added: operators of which there are more afterwards, likewise.
        calls: calls of operators afterwards.
    """

    step: int
    name: str
    removed: str
    added: str
    calls: int


@dataclass(frozen=True)
class PassHistory:
    """The passes that changed a method, in order.

    Attributes:
        title: model and method.
        steps: one a pass that changed something.
        graphs: the graph before the first one, and after every step.
    """

    title: str
    steps: Table[PassStep]
    graphs: tuple[GraphData, ...]

    def comparison(self, step: int) -> GraphComparison:
        """The graphs before and after a step.

        Raises:
            InvalidArgumentError: there is no such step.
        """
        if not 1 <= step <= len(self.steps):
            raise InvalidArgumentError(
                f"{self.title}: no step {step}; there are {len(self.steps)}, counted from 1"
            )
        return compare(self.graphs[step - 1], self.graphs[step])

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a step."""
        return self.steps.to_dataframe()

    def widget(self, **options: Any) -> Any:
        """A `PassView` of this history: a slider over the steps."""
        return display.view_of(self, "PassView", **options)

    def __repr__(self) -> str:
        """One line."""
        names = ", ".join(step.name for step in self.steps) or "no pass changed anything"
        return f"PassHistory({self.title}: {names})"

    def _repr_html_(self) -> str:
        return display.card(f"Passes of {self.title}", self.steps._repr_html_())

    def _ipython_display_(self) -> None:
        """In a notebook the live view (and its picture, which stays); elsewhere one line."""
        display.show_view(self)


def pass_history(
    stages: Mapping[str, Any], method: str = "forward", *, name: str, passes: Sequence[Any] = ()
) -> PassHistory:
    """Lower a model again, without delegates, and keep the graph after every pass.

    Args:
        stages: the forms of a model by stage name.
        method: which method.
        name: of the model.
        passes: the user's own, which run after those of `to_edge`.

    Raises:
        NotFoundError: there is no such method.
    """
    from etlab.exir import to_edge

    stages["delegated"].edge_graph(method)  # refuses a method that there is not
    origins = exported_origins(stages)
    title = name if method == "forward" else f"{name}, {method}"
    graphs: list[GraphData] = []
    names: list[str] = []

    def see(pass_name: str, edge: EdgeGraph) -> None:
        if edge.name != method or (not pass_name and graphs):
            return
        if pass_name:
            names.append(pass_name)
        said = f"{len(graphs)}: {pass_name}" if pass_name else "0: as decomposed"
        raw = read_graph(edge, origins=origins)
        graphs.append(assemble(raw, title=f"{title}, {said}", stage="edge"))

    source = stages["quantized"] if "quantized" in stages else stages["aten"]
    with listen(StageListener(on_pass=see)):
        manager = to_edge({method: source})
        if passes:
            manager = manager.transform(list(passes))
        run_passes(copy_edge_graph(manager.edge_graph(method)), EMISSION_PASSES)
    steps = [
        _step(place, names[place - 1], graphs[place - 1], graphs[place])
        for place in range(1, len(graphs))
    ]
    return PassHistory(title, Table(PassStep, steps, title=f"passes of {title}"), tuple(graphs))


def _step(number: int, name: str, before: GraphData, after: GraphData) -> PassStep:
    old, new = before.operators, after.operators
    return PassStep(
        step=number,
        name=name,
        removed=_counted({one: n - new.get(one, 0) for one, n in old.items()}),
        added=_counted({one: n - old.get(one, 0) for one, n in new.items()}),
        calls=sum(new.values()),
    )


def _counted(counts: Mapping[str, int]) -> str:
    shown = sorted((one, number) for one, number in counts.items() if number > 0)
    return ", ".join(f"{number} {one}" for one, number in shown)
