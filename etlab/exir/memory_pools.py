"""Memories chosen by a user's `MemoryPlanningPass`, as ExecuTorch's documentation shows it.

    class MulsApart(MemoryPlanningPass):
        def run(self, graph_module, graph_signature):
            for node in graph_module.graph.nodes:
                if node.target is torch.ops.aten.mul.out:
                    node.meta["spec"].mem_id = 2
            return super().run(graph_module, graph_signature)

The pass sees the method's calls of out variants. What it says is given to the planner as memories
of unlimited size, and tensors pinned to them.
"""

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export.graph_signature import ExportGraphSignature

from etlab.errors import InvalidArgumentError
from etlab.exir.edge import EdgeGraph
from etlab.exir.memory.lifetimes import lifetimes_of
from etlab.exir.memory.memories import Memory
from etlab.exir.memory.planning import MemoryPlanningPass
from etlab.exir.ops import OutVariant
from etlab.exir.schedule import Call, Flow, Schedule, Value


@dataclass(slots=True)
class TensorMemory:
    """What a pass is told of a tensor, and says of it.

    Attributes:
        shape: sizes, the largest of dynamic ones.
        dtype: element type.
        mem_id: number of the memory, from 1; None leaves it to the planner.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    mem_id: int | None = None

    def nbytes(self) -> int:
        """Bytes of the tensor at its largest."""
        return math.prod(self.shape) * self.dtype.itemsize


def choose_memories(
    options: MemoryPlanningPass, schedule: Schedule, edge: EdgeGraph
) -> MemoryPlanningPass:
    """The options with the memories and pins that their own `run` says.

    Raises:
        InvalidArgumentError: it says no number from 1, or memories are given in both ways.
    """
    if type(options).run is MemoryPlanningPass.run:
        return options
    told: dict[Value, TensorMemory] = {}
    module = fx.GraphModule(torch.nn.Module(), _graph_of(schedule, told))
    options.run(module, ExportGraphSignature(list(edge.inputs), list(edge.outputs)))
    planned = lifetimes_of(schedule)
    chosen = {
        value.name: spec.mem_id
        for value, spec in told.items()
        if value in planned and spec.mem_id is not None
    }
    if not chosen:
        return options
    name = type(options).__name__
    if options.memories:
        raise InvalidArgumentError(f"{name}: it sets mem_id and has memories=…; do one of both")
    wrong = [n for n in chosen.values() if not isinstance(n, int) or n < 1]
    if wrong:
        raise InvalidArgumentError(f"{name}: a mem_id is a number from 1, not {wrong[0]!r}")
    memories = [Memory(f"memory {number + 1}") for number in range(max(chosen.values()))]
    pinned = {tensor: f"memory {number}" for tensor, number in chosen.items()}
    changed = copy.copy(options)  # not `replace`: a subclass may have arguments of its own
    object.__setattr__(changed, "memories", memories)
    object.__setattr__(changed, "pinned", pinned)
    return changed


def _graph_of(schedule: Schedule, told: dict[Value, TensorMemory]) -> fx.Graph:
    """The calls as a graph for looking at; fills in what is told of every tensor."""
    graph = fx.Graph()
    nodes: dict[Value, fx.Node] = {}

    def spec_of(value: Value) -> TensorMemory | None:
        if value.spec is None:
            return None
        return told.setdefault(value.root, TensorMemory(value.spec.sizes, value.spec.dtype))

    def node_of(item: Any) -> Any:
        if type(item) is list:
            return [node_of(one) for one in item]
        return nodes.get(item.root) if type(item) is Value else item

    made = {output.root for call in schedule.calls for output in call.outputs}
    for value in [*schedule.inputs, *(v for call in schedule.calls for v in call.values())]:
        if value.root in nodes or (value.root in made and value not in schedule.inputs):
            continue
        nodes[value.root] = graph.placeholder(value.root.name)
        nodes[value.root].meta["spec"] = spec_of(value)
    for call in schedule.calls:
        if isinstance(call.operator, Flow):
            continue
        node = graph.call_function(_target(call), tuple(node_of(a) for a in call.arguments))
        specs = [spec_of(output) for output in call.outputs]
        node.meta["spec"] = specs[0] if len(specs) == 1 else tuple(specs)
        for output in call.outputs:
            nodes[output.root] = node
    graph.output(tuple(node_of(output) for output in schedule.outputs))
    return graph


def _target(call: Call) -> Any:
    """The out variant as torch has it; of what torch lacks, what the edge graph calls."""
    if isinstance(call.operator, OutVariant):
        namespace, name = call.operator.name.split("::")
        packet = getattr(getattr(torch.ops, namespace), name, None)
        found = getattr(packet, call.operator.overload or "default", None)
        if isinstance(found, OpOverload):
            return found
    return call.node.target if call.node is not None and callable(call.node.target) else _other


def _other(*arguments: Any) -> None:
    """Stands for calls that no Python object stands for."""
