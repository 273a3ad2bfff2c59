"""A payload's nodes and values by number, and payloads that compute a part of another."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch

from etlab.backends.xnnpack.payload import schema
from etlab.backends.xnnpack.payload.file import Payload, write_payload
from etlab.backends.xnnpack.payload.schema import NO_VALUE, Datatype
from etlab.errors import InvalidArgumentError, InvalidProgramError
from etlab.exir.partition.inside import InsideNode, InsideValue

# What a tensor of the program has where such a value crosses the delegate's border.
_DTYPES = {
    Datatype.FP32: torch.float32,
    Datatype.FP16: torch.float16,
    Datatype.BF16: torch.bfloat16,
    Datatype.INT32: torch.int32,
    Datatype.QINT8: torch.int8,
    Datatype.QUINT8: torch.uint8,
}


class PayloadInside:
    """Looks into a payload; see `etlab.exir.partition.inside.Inside`."""

    def __init__(self, payload: Payload) -> None:
        """Take a payload that was read."""
        self.payload = payload
        self._graph = payload.graph

    @cached_property
    def nodes(self) -> tuple[InsideNode, ...]:
        """In the order of the payload, which is that of execution."""
        found = []
        for index, node in enumerate(self._graph.xnodes or ()):
            reads, writes = node_values(node)
            reads = tuple(number for number in reads if number in self.values)
            found.append(InsideNode(index, type(node.xnode_union).__name__, reads, writes))
        return tuple(found)

    @cached_property
    def values(self) -> Mapping[int, InsideValue]:
        """Every value that is no constant, by number."""
        found = {}
        for tensor in self.tensors.values():
            if tensor.constant_buffer_idx:
                continue
            dtype = _DTYPES.get(tensor.datatype)
            found[tensor.id_out] = InsideValue(tensor.id_out, dtype, tuple(tensor.dims or ()))
        return found

    @cached_property
    def tensors(self) -> Mapping[int, schema.TensorValue]:
        """Every value by number, constants among them."""
        found = {}
        for value in self._graph.xvalues or ():
            tensor = schema.tensor_of(value)
            if tensor is None:
                raise InvalidProgramError("the XNNPACK payload has an empty value; it is damaged")
            found[tensor.id_out] = tensor
        return found

    @cached_property
    def inputs(self) -> Mapping[int, int]:
        """Values that are inputs of the delegate, to the places of its arguments."""
        return {number: self._tensor(number).external_id for number in self._graph.input_ids or ()}

    @cached_property
    def outputs(self) -> Mapping[int, int]:
        """Values that are outputs of the delegate, to the places of its arguments."""
        return {number: self._tensor(number).external_id for number in self._graph.output_ids or ()}

    def tapped(self, values: Sequence[int]) -> bytes:
        """The same payload with more outputs.

        Raises:
            InvalidArgumentError: some of `values` are inputs or outputs already.
        """
        if known := sorted(set(values) & set(self._externals)):
            raise InvalidArgumentError(f"values {known} cross the delegate's border already")
        first = self._graph.num_externs
        places = {number: first + place for place, number in enumerate(values)}
        graph = self._with_externals(places, schema.EXTERNAL_OUTPUT)
        return self._write(
            dataclasses.replace(
                graph,
                num_externs=first + len(values),
                output_ids=(*(graph.output_ids or ()), *values),
            )
        )

    def excerpt(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The nodes between `inputs` and `outputs`.

        Raises:
            InvalidArgumentError: `outputs` need an input that is not among `inputs`.
        """
        needed = self._between(set(inputs), set(outputs))
        graph = self._with_externals(dict.fromkeys(self._externals, NO_VALUE), 0)
        inside = PayloadInside(Payload(graph, self.payload.constants))
        places = {number: place for place, number in enumerate(inputs)}
        graph = inside._with_externals(places, schema.EXTERNAL_INPUT)
        inside = PayloadInside(Payload(graph, self.payload.constants))
        places = {number: len(inputs) + place for place, number in enumerate(outputs)}
        graph = inside._with_externals(places, schema.EXTERNAL_OUTPUT)
        xnodes = graph.xnodes or ()
        kept = [xnodes[index] for index in needed]
        used = {*inputs, *outputs}
        for node in kept:
            reads, writes = node_values(node)
            used.update(reads, writes)
        return self._write(
            dataclasses.replace(
                _renumbered(graph, kept, used, inputs, outputs),
                num_externs=len(inputs) + len(outputs),
            )
        )

    @property
    def _externals(self) -> tuple[int, ...]:
        return (*(self._graph.input_ids or ()), *(self._graph.output_ids or ()))

    def _tensor(self, number: int) -> schema.TensorValue:
        if number not in self.tensors:
            raise InvalidProgramError(f"the XNNPACK payload has no value {number}; it is damaged")
        return self.tensors[number]

    def _between(self, inputs: Collection[int], outputs: Collection[int]) -> list[int]:
        """Places of the nodes that `outputs` need, in order."""
        wanted = set(outputs) - set(inputs)
        needed = []
        for node in reversed(self.nodes):
            if wanted.isdisjoint(node.outputs):
                continue
            needed.append(node.index)
            wanted -= set(node.outputs)
            wanted |= set(node.inputs) - set(inputs)
        if wanted:
            raise InvalidArgumentError(
                f"an excerpt of an XNNPACK payload needs the values {sorted(wanted)} as inputs, too"
            )
        return needed[::-1]

    def _with_externals(self, places: Mapping[int, int], flags: int) -> schema.Graph:
        """The graph with other places among the delegate's arguments for some values."""
        values = []
        for value in self._graph.xvalues or ():
            tensor = schema.tensor_of(value)
            assert tensor is not None
            if tensor.id_out in places:
                place = places[tensor.id_out]
                changed = dataclasses.replace(tensor, external_id=place, flags=flags)
                value = with_tensor(value, changed)
            values.append(value)
        return dataclasses.replace(self._graph, xvalues=tuple(values))

    def _write(self, graph: schema.Graph) -> bytes:
        return write_payload(graph, self.payload.constants)


def with_tensor(value: schema.Value, tensor: schema.TensorValue) -> schema.Value:
    """The entry with another tensor and the same quantization."""
    content = value.xvalue_union
    if isinstance(content, schema.QuantizedTensorValue):
        return schema.Value(dataclasses.replace(content, tensor_value=tensor))
    return schema.Value(tensor)


def node_values(node: schema.Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of the values that a node reads, constants among them, and of those it writes."""
    reads: list[int] = []
    writes: list[int] = []
    for name, number in _value_fields(node.xnode_union).items():
        if number != NO_VALUE:
            (writes if name.startswith("output") else reads).append(number)
    return tuple(reads), tuple(writes)


def _value_fields(content: Any) -> dict[str, int]:
    names = [field.name for field in dataclasses.fields(content)]
    kind = type(content).__name__
    absent: set[str] = set()
    if kind.startswith("Concatenate"):  # leaves the inputs that it does not have at 0
        absent = {f"input{place}_id" for place in range(1 + int(kind[-1]), 6)}
    return {
        name: getattr(content, name)
        for name in names
        if name.endswith("_id") and name not in absent
    }


def _renumbered(
    graph: schema.Graph,
    nodes: Sequence[schema.Node],
    used: Collection[int],
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> schema.Graph:
    """The graph of some nodes and the values they use, numbered from 0."""
    values: list[schema.Value] = []
    numbers: dict[int, int] = {}
    for value in graph.xvalues or ():
        tensor = schema.tensor_of(value)
        assert tensor is not None
        if tensor.id_out not in used:
            continue
        numbers[tensor.id_out] = len(values)
        values.append(with_tensor(value, dataclasses.replace(tensor, id_out=len(values))))
    changed = []
    for node in nodes:
        fields = {
            name: numbers[number]
            for name, number in _value_fields(node.xnode_union).items()
            if number != NO_VALUE
        }
        content = dataclasses.replace(node.xnode_union, **fields)
        changed.append(dataclasses.replace(node, xnode_union=content))
    return dataclasses.replace(
        graph,
        xnodes=tuple(changed),
        xvalues=tuple(values),
        input_ids=tuple(numbers[number] for number in inputs),
        output_ids=tuple(numbers[number] for number in outputs),
    )
