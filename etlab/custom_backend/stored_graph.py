"""A subgraph as bytes, and run node by node: what a backend gets that writes no format of its own.

The bytes are a `torch.save` of plain lists, numbers, strings and tensors, read with
`weights_only=True`: a file of somebody else cannot run code.
"""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from etlab.custom_backend.plain_values import Value, dtype_of, from_plain, name_of, to_plain
from etlab.errors import InvalidProgramError, NotSupportedError
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import constant_placeholders, is_getitem, map_values
from etlab.exir.partition.inside import InsideNode, InsideValue
from etlab.exir.specs import Bounds
from etlab.runtime import NodeObserver

_FORMAT = "etlab graph 1"

# Computes one node: its operator ("aten.linear.default"), arguments and keyword arguments.
Compute = Callable[[str, Sequence[Any], Mapping[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class StoredNode:
    """One call.

    Attributes:
        operator: its name, "aten.linear.default".
        args: as the operator's schema has them; tensors are a `Value`, also within lists.
        kwargs: likewise.
        outputs: the numbers of its results; None for one that nobody uses.
        debug_handle: of the model's operator.
        is_tuple: whether it returns several results.
    """

    operator: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: tuple[int | None, ...]
    debug_handle: int
    is_tuple: bool

    @property
    def kind(self) -> str:
        """The operator's name without overload and namespace: "linear"."""
        return self.operator.split(".")[1]

    def reads(self) -> tuple[int, ...]:
        """The numbers of the values that it takes."""
        found: list[int] = []
        map_values(
            lambda leaf: found.append(leaf.number) if isinstance(leaf, Value) else None,
            [list(self.args), self.kwargs],
        )
        return tuple(found)


class StoredGraph:
    """The calls of one delegated subgraph, with its constants.

    Attributes:
        calls: in the order of execution.
        constants: tensors by the number of their value.
        values: every value that is no constant, by number.
        arguments: numbers of the values that the delegate is given, in order.
        results: numbers of the values that it returns, in order.
    """

    def __init__(
        self,
        calls: Sequence[StoredNode],
        constants: Mapping[int, torch.Tensor],
        values: Mapping[int, InsideValue],
        arguments: Sequence[int],
        results: Sequence[int],
    ) -> None:
        self.calls = tuple(calls)
        self.constants = dict(constants)
        self.values = dict(values)
        self.arguments = tuple(arguments)
        self.results = tuple(results)

    @classmethod
    def of(cls, subgraph: EdgeGraph) -> tuple["StoredGraph", dict[int, fx.Node]]:
        """The calls of a subgraph, and the node whose result each value is.

        Raises:
            NotSupportedError: an argument is none that can be stored.
        """
        return _Writer(subgraph).finish()

    def run(
        self,
        compute: Compute,
        inputs: Sequence[Any],
        observer: NodeObserver | None = None,
    ) -> tuple[list[torch.Tensor], dict[int, Any]]:
        """Compute it.

        Args:
            compute: does one call.
            inputs: of the delegate, in order.
            observer: is told of every call.

        Returns:
            The outputs, and every value by number.
        """
        held: dict[int, Any] = {**self.constants}
        held.update(zip(self.arguments, inputs, strict=True))

        def argument(leaf: Any) -> Any:
            return held[leaf.number] if isinstance(leaf, Value) else leaf

        for index, call in enumerate(self.calls):
            result = compute(
                call.operator, map_values(argument, call.args), map_values(argument, call.kwargs)
            )
            for number, item in zip(
                call.outputs, result if call.is_tuple else [result], strict=True
            ):
                if number is None:
                    continue
                held[number] = item
                if observer is not None and observer.wants_results:
                    observer.result(number, item)
            if observer is not None:
                observer.node(call.kind, index=index, debug_handle=call.debug_handle)
        return [held[number] for number in self.results], held

    # What `etlab.exir.partition.inside.Inside` asks for.

    @property
    def nodes(self) -> tuple[InsideNode, ...]:
        """The calls, for those who look at numbers between them."""
        return tuple(
            InsideNode(
                index,
                call.kind,
                tuple(number for number in call.reads() if number not in self.constants),
                tuple(number for number in call.outputs if number is not None),
            )
            for index, call in enumerate(self.calls)
        )

    @property
    def inputs(self) -> dict[int, int]:
        """Values that are arguments of the delegate, to their places."""
        return {number: place for place, number in enumerate(self.arguments)}

    @property
    def outputs(self) -> dict[int, int]:
        """Values that the delegate returns, to the places of its arguments."""
        first = len(self.arguments)
        return {number: first + place for place, number in enumerate(self.results)}

    def tapped(self, values: Sequence[int]) -> bytes:
        """The same with more results."""
        return self._with(self.calls, self.arguments, (*self.results, *values)).to_bytes()

    def excerpt(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """What computes `outputs` from `inputs`."""
        needed, kept = set(outputs) - set(inputs), []
        for call in reversed(self.calls):
            if needed.isdisjoint(call.outputs):
                continue
            kept.append(call)
            needed |= set(call.reads()) - set(inputs)
        return self._with(kept[::-1], inputs, outputs).to_bytes()

    def _with(
        self, calls: Iterable[StoredNode], arguments: Sequence[int], results: Sequence[int]
    ) -> "StoredGraph":
        return StoredGraph(list(calls), self.constants, self.values, arguments, results)

    def to_bytes(self) -> bytes:
        """The graph with its constants."""
        content = {
            "format": _FORMAT,
            "calls": [_call_to_plain(call) for call in self.calls],
            "constants": self.constants,
            "values": [
                [value.number, name_of(value.dtype), list(value.sizes)]
                for value in self.values.values()
            ],
            "arguments": list(self.arguments),
            "results": list(self.results),
        }
        buffer = io.BytesIO()
        torch.save(content, buffer)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> "StoredGraph":
        """What `to_bytes` wrote.

        Raises:
            InvalidProgramError: the bytes are no such graph.
        """
        try:
            content = torch.load(io.BytesIO(data), weights_only=True)
            if content["format"] != _FORMAT:
                raise ValueError(f"the format is {content['format']!r}, expected {_FORMAT!r}")
            return cls(
                [_call_from_plain(call) for call in content["calls"]],
                dict(content["constants"]),
                {
                    number: InsideValue(number, dtype_of(name), tuple(sizes))
                    for number, name, sizes in content["values"]
                },
                content["arguments"],
                content["results"],
            )
        except Exception as error:  # whatever a hostile file makes torch or us stumble over
            raise InvalidProgramError(
                f"the delegate's bytes hold no graph of this etlab: {error}; lower the model again"
            ) from error


class _Writer:
    """Numbers the values of a subgraph and writes its calls down."""

    def __init__(self, subgraph: EdgeGraph) -> None:
        self._subgraph = subgraph
        self._numbers: dict[fx.Node, int] = {}
        self._calls: list[StoredNode] = []

    def finish(self) -> tuple[StoredGraph, dict[int, fx.Node]]:
        tensors = constant_placeholders(self._subgraph)
        nodes = list(self._subgraph.graph.nodes)
        for node in nodes:
            if node.op in ("placeholder", "call_function"):
                self._numbers[node] = len(self._numbers)
        for node in nodes:
            if node.op == "call_function" and not is_getitem(node):
                self._calls.append(self._call(node))
        made = {number: node for node, number in self._numbers.items()}
        bounds = Bounds(self._subgraph.range_constraints)
        tuples = {node for node in made.values() if isinstance(node.meta["val"], tuple | list)}
        returned: Any = self._subgraph.graph.output_node().args[0]
        graph = StoredGraph(
            self._calls,
            {self._numbers[node]: tensor.detach() for node, tensor in tensors.items()},
            {
                number: _value(number, node, bounds)
                for number, node in made.items()
                if node not in tensors and node not in tuples
            },
            [
                self._numbers[node]
                for node in nodes
                if node.op == "placeholder" and node not in tensors
            ],
            [self._numbers[node] for node in returned],
        )
        return graph, {number: made[number] for number in graph.values}

    def _call(self, node: fx.Node) -> StoredNode:
        value = node.meta["val"]
        outputs: tuple[int | None, ...] = (self._numbers[node],)
        if is_tuple := isinstance(value, tuple | list):
            places: list[int | None] = [None] * len(value)
            for user in node.users:
                places[int(user.args[1])] = self._numbers[user]  # type: ignore[arg-type]
            outputs = tuple(places)

        def stored(leaf: Any) -> Any:
            if isinstance(leaf, fx.Node):
                return Value(self._numbers[leaf])
            to_plain(leaf)  # refuses what cannot be stored while the node's name is known
            return leaf

        try:
            return StoredNode(
                str(node.target),
                map_values(stored, tuple(node.args)),
                map_values(stored, dict(node.kwargs)),
                outputs,
                int(node.meta.get("debug_handle", 0)),
                is_tuple,
            )
        except NotSupportedError as error:
            raise NotSupportedError(f"{node.name} ({node.target}): {error}") from None


def _value(number: int, node: fx.Node, bounds: Bounds) -> InsideValue:
    held = node.meta["val"]
    if not isinstance(held, torch.Tensor):
        return InsideValue(number, None, ())
    sizes = tuple(bounds.upper(size, node.name) for size in held.shape)
    return InsideValue(number, held.dtype, sizes)


def _call_to_plain(call: StoredNode) -> list[Any]:
    args = [to_plain(item) for item in call.args]
    kwargs = [[key, to_plain(item)] for key, item in call.kwargs.items()]
    return [call.operator, args, kwargs, list(call.outputs), call.debug_handle, call.is_tuple]


def _call_from_plain(plain: Sequence[Any]) -> StoredNode:
    name, args, kwargs, outputs, handle, is_tuple = plain
    if not isinstance(name, str) or name.count(".") != 2:
        raise ValueError(f"{name!r} is no operator's name such as 'aten.linear.default'")
    return StoredNode(
        name,
        tuple(from_plain(item) for item in args),
        {key: from_plain(item) for key, item in kwargs},
        tuple(outputs),
        handle,
        is_tuple,
    )
