"""Ordinary torch.fx passes on edge graphs."""

from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from etlab.errors import InvalidArgumentError
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import infer_val
from etlab.exir.passes.base import Pass, PassResult


class FxPass(Pass):
    """A callable from `GraphModule` to `PassResult` (or None), as torch.fx has them.

    New nodes without `meta["val"]` get one. The number and order of placeholders and outputs has to
    stay, or the signature would be wrong. Bodies of control flow are the business of the pass,
    except that an `ExportPass` gets every one by itself.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise InvalidArgumentError(
                f"a pass is an etlab Pass or a callable on a GraphModule, not {function!r}"
            )
        self._function = function

    @property
    def name(self) -> str:
        """Name of the adapted pass."""
        return getattr(self._function, "__name__", type(self._function).__name__)

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        before = _interface(graph.graph)
        module = fx.GraphModule(_Attributes(graph), graph.graph)
        result = self._function(module)
        new: fx.Graph = getattr(result, "graph_module", module).graph
        if _interface(new) != before:
            raise InvalidArgumentError(
                f"pass {self.name} changed the inputs or the number of outputs of '{graph.name}'; "
                "an fx pass may only edit what lies between them"
            )
        for node in new.nodes:
            target: Any = node.target
            if node.op == "call_function" and "val" not in node.meta:
                if not isinstance(target, OpOverload):
                    continue
                node.meta["val"] = infer_val(new, target, node.args, node.kwargs)
        graph.graph = new
        changed = bool(getattr(result, "modified", True))
        if getattr(self._function, "rewrites_bodies", False):
            for body in graph.submodules.values():
                if isinstance(body, EdgeGraph):
                    changed = self.run(body).changed or changed
        return PassResult(graph, changed)


class _Attributes(torch.nn.Module):
    """The root that `get_attr` nodes are looked up in."""

    def __init__(self, graph: EdgeGraph) -> None:
        super().__init__()
        for name, value in graph.submodules.items():
            setattr(self, name, value)


def _interface(graph: fx.Graph) -> tuple[list[str], int]:
    placeholders = [node.name for node in graph.nodes if node.op == "placeholder"]
    outputs: Any = graph.output_node().args[0]
    return placeholders, len(outputs)
