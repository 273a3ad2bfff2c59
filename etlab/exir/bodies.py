"""Bodies of loops that the compiler itself makes."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import fx
from torch.export.graph_signature import (
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import infer_val

Call = Callable[..., fx.Node]
"""Makes a call: `call(target, *args, val=None)`."""


def body_graph(
    name: str,
    inputs: Sequence[tuple[str, Any]],
    provenance: dict[str, Any],
    compute: Callable[[Call, list[fx.Node]], Sequence[fx.Node]],
) -> EdgeGraph:
    """A body: tensors in, tensors out.

    Args:
        name: of the graph.
        inputs: name and meta value of each.
        provenance: what every node in it takes over.
        compute: makes the nodes in between; gets a `Call` and the inputs, returns the outputs.
    """
    graph = fx.Graph()
    placeholders = []
    for input_name, val in inputs:
        placeholders.append(graph.placeholder(input_name))
        placeholders[-1].meta = {**provenance, "val": val}

    def call(target: Any, *args: Any, val: Any = None) -> fx.Node:
        made = graph.call_function(target, tuple(args))
        val = infer_val(graph, target, args) if val is None else val
        made.meta = {**provenance, "val": val}
        return made

    results = tuple(compute(call, placeholders))
    graph.output(results).meta = {"val": tuple(result.meta["val"] for result in results)}
    return EdgeGraph(
        name=name,
        graph=graph,
        inputs=[
            InputSpec(InputKind.USER_INPUT, TensorArgument(p.name), None) for p in placeholders
        ],
        outputs=[OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(r.name), None) for r in results],
        tensors={},
        range_constraints={},
        in_spec=None,
        out_spec=None,
    )
