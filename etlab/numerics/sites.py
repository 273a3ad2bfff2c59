"""Where a program computes the values of the graph that was lowered."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import is_getitem
from etlab.exir.partition.backend import ValueOrigin
from etlab.exir.partition.delegate import LoweredModule
from etlab.exir.provenance import operator_of
from etlab.numerics.counterparts import counterparts, lowered_module
from etlab.numerics.operators import value_of
from etlab.numerics.parts import ProgramParts
from etlab.numerics.places import Place


@dataclass(frozen=True, slots=True)
class Site:
    """Where the program computes the value of a node of the program that was lowered.

    Attributes:
        node: the node.
        place: where it is computed.
        value: index of the program's value that holds it; None inside of a delegate.
        order: its dimensions as they lie in a delegate's memory; None outside.
        part: name of the delegate; empty outside.
        kind: what computes it: operator, or kind of the delegate's node.
    """

    node: str
    place: Place
    value: int | None
    order: tuple[int, ...] | None
    part: str
    kind: str


class SiteFinder:
    """Finds where a program computes the values of the graph that was lowered."""

    def __init__(self, edge: EdgeGraph, lowered: fx.Graph, parts: ProgramParts) -> None:
        self._edge = edge
        self._parts = parts
        self._computes = counterparts(edge, lowered)
        self.sites: dict[str, Site] = {}
        self.fused: dict[str, str] = {}
        self.numbers: dict[Place, str] = {}
        self.orders: dict[Place, tuple[int, ...]] = {}
        self.branching: dict[int, str] = {}

    @property
    def computed(self) -> dict[str, str]:
        """Lowered nodes that some node computes, to its part."""
        return {source: part for (part, _), source in self._computes.items()}

    def find(self, instruction_nodes: Sequence[str]) -> None:
        """Go through the instructions."""
        nodes = {node.name: node for node in self._edge.graph.nodes}
        for step in self._parts.steps:
            if step.index >= len(instruction_nodes):
                break
            node = nodes.get(instruction_nodes[step.index])
            if node is None:
                continue
            lowered = lowered_module(self._edge, node)
            if isinstance(node.target, HigherOrderOperator):
                self.branching[step.index] = self._computes.get(("", node.name), "")
            elif lowered is None:
                self._own(step.index, node)
            else:
                self._inside(step.index, str(node.all_input_nodes[0].target), lowered)

    def _own(self, index: int, node: fx.Node) -> None:
        """An instruction that runs a kernel."""
        step = self._parts.steps[index]
        results = [user for user in node.users if is_getitem(user)] or [node]
        for result in results:
            place = int(result.args[1]) if is_getitem(result) else 0  # type: ignore[arg-type]
            source = self._computes.get(("", result.name))
            if source is None or place >= len(step.writes):
                continue
            value = step.writes[place]
            if self._parts.tensor(value) is not None:
                at = Place(index, value)
                self.numbers[at] = source
                self.sites[source] = Site(source, at, value, None, "", operator_of(node))

    def _inside(self, index: int, part: str, lowered: LoweredModule) -> None:
        """An instruction that calls a delegate."""
        step = self._parts.steps[index]
        assert step.delegate is not None
        inside = self._parts.inside(step.delegate)
        if inside is None:
            self._whole(index, part, lowered)
            return
        makers = {number: node.kind for node in inside.nodes for number in node.outputs}
        inner = {node.name: node for node in lowered.original.graph.nodes}
        arguments = self._parts.arguments(index)
        for number, origins in lowered.value_origins.items():
            held = inside.values.get(number)
            origin = self._origin(part, origins, inner)
            if held is None or held.dtype is None or origin is None:
                continue
            key = self._key(part, inner[origin.node])
            if len(origin.order) != len(held.sizes):
                continue
            at = Place(index, number, is_inside=True)
            self.numbers[at] = key
            self.orders[at] = origin.order
            crossing = inside.outputs.get(number)
            if crossing is not None:
                self.numbers[Place(index, arguments[crossing])] = key
            if number not in makers or key in self.sites:
                continue
            value = arguments[crossing] if crossing is not None else None
            self.sites[key] = Site(key, at, value, origin.order, part, makers[number])
        self._find_fused(part, inner.values())

    def _find_fused(self, part: str, nodes: Iterable[fx.Node]) -> None:
        """Nodes of a delegate whose only users end in a value that the delegate has."""
        for node in nodes:
            source = self._computes.get((part, node.name))
            after = node
            while source is not None and source not in self.sites and len(after.users) == 1:
                after = next(iter(after.users))
                key = self._computes.get((part, after.name))
                if key in self.sites:
                    self.fused[source] = str(key)
                    break

    def _whole(self, index: int, part: str, lowered: LoweredModule) -> None:
        """A delegate that only shows what it returns."""
        results: Any = lowered.original.graph.output_node().args[0]
        writes = self._parts.steps[index].writes
        for result, value in zip(results, writes, strict=False):
            key = self._computes.get((part, result.name))
            if key is not None:
                at = Place(index, value)
                self.numbers[at] = key
                self.sites[key] = Site(key, at, value, None, part, lowered.backend_id)

    def _origin(
        self, part: str, origins: Sequence[ValueOrigin], inner: Mapping[str, fx.Node]
    ) -> ValueOrigin | None:
        """Whose result a delegate's value is: the last one's, integers before floats."""
        known = [one for one in origins if one.node in inner and self._key(part, inner[one.node])]
        integers = [one for one in known if value_of(inner[one.node]).dtype is torch.int8]
        return next(reversed(integers or known), None)

    def _key(self, part: str, node: fx.Node) -> str:
        """The lowered node whose value a delegate's node has; empty when there is none."""
        return self._computes.get(("" if node.op == "placeholder" else part, node.name), "")
