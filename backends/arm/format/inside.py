"""A graph's operators and values by number, and graphs that compute a part of another."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

import torch

from etlab.backends.arm.format.file import read_graph, write_graph
from etlab.backends.arm.format.operators import DType, name_of
from etlab.backends.arm.format.schema import Block, Graph, Operator, Region
from etlab.errors import InvalidArgumentError
from etlab.exir.partition.inside import InsideNode, InsideValue

# What a tensor of the program has where such a value crosses the delegate's border.
DTYPES = {
    DType.BOOL: torch.bool,
    DType.INT8: torch.int8,
    DType.INT16: torch.int16,
    DType.INT32: torch.int32,
    DType.INT64: torch.int64,
    DType.FP16: torch.float16,
    DType.BF16: torch.bfloat16,
    DType.FP32: torch.float32,
}


class GraphInside:
    """Looks into a graph; see `etlab.exir.partition.inside.Inside`.

    Values are numbered as the graph lists its tensors.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._block = graph.main

    @classmethod
    def of(cls, data: bytes) -> "GraphInside":
        """A graph in bytes; raises as `read_graph`."""
        return cls(read_graph(data))

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Every tensor's number, constants among them."""
        listed = enumerate(self._block.tensors or ())
        return {str(tensor.name): number for number, tensor in listed}

    @cached_property
    def nodes(self) -> tuple[InsideNode, ...]:
        """In the order of the graph, which is that of execution; constants are none."""
        found = []
        for index, operator in enumerate(self._block.operators or ()):
            writes = self._values_of(operator.outputs or ())
            if operator.attribute is not None and writes:
                reads = self._values_of(operator.inputs or ())
                found.append(InsideNode(index, name_of(operator.attribute), reads, writes))
        return tuple(found)

    @cached_property
    def values(self) -> Mapping[int, InsideValue]:
        """Every value that is no constant, by number."""
        return {
            number: InsideValue(number, DTYPES.get(tensor.type), tuple(tensor.shape or ()))
            for number, tensor in enumerate(self._block.tensors or ())
            if tensor.data is None
        }

    @cached_property
    def inputs(self) -> Mapping[int, int]:
        """Values that are inputs of the delegate, to the places of its arguments."""
        names = self._block.inputs or ()
        return {self.numbers[name]: place for place, name in enumerate(names)}

    @cached_property
    def outputs(self) -> Mapping[int, int]:
        """Values that are outputs of the delegate, to the places of its arguments."""
        first = len(self.inputs)
        names = self._block.outputs or ()
        return {self.numbers[name]: first + place for place, name in enumerate(names)}

    def tapped(self, values: Sequence[int]) -> bytes:
        """The same graph with more outputs.

        Raises:
            InvalidArgumentError: some of `values` are inputs or outputs already.
        """
        if known := sorted(set(values) & {*self.inputs, *self.outputs}):
            raise InvalidArgumentError(f"values {known} cross the delegate's border already")
        outputs = (*(self._block.outputs or ()), *map(self._name, values))
        return self._write(dataclasses.replace(self._block, outputs=outputs))

    def excerpt(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The operators between `inputs` and `outputs`.

        Raises:
            InvalidArgumentError: `outputs` need an input that is not among `inputs`.
        """
        wanted = set(map(self._name, outputs))
        given = set(map(self._name, inputs))
        operators, used = self._between(given, wanted)
        if missing := used & set(self._block.inputs or ()) - given:
            raise InvalidArgumentError(
                f"an excerpt of a TOSA graph needs {', '.join(sorted(missing))} as inputs, too"
            )
        used |= given | wanted
        return self._write(
            dataclasses.replace(
                self._block,
                operators=operators,
                tensors=tuple(one for one in self._block.tensors or () if one.name in used),
                shapes=tuple(one for one in self._block.shapes or () if one.name in used),
                inputs=tuple(map(self._name, inputs)),
                outputs=tuple(map(self._name, outputs)),
            )
        )

    def _between(
        self, given: Collection[str], wanted: Iterable[str]
    ) -> tuple[tuple[Operator, ...], set[str]]:
        """The operators that `wanted` need, in order, and the names that they use."""
        needed, kept = set(wanted) - set(given), []
        used: set[str] = set(needed)
        for operator in reversed(self._block.operators or ()):
            if needed.isdisjoint(operator.outputs or ()):
                continue
            kept.append(operator)
            names = {*(operator.inputs or ()), *(operator.outputs or ())}
            used |= names
            needed |= names - set(given)
        return tuple(reversed(kept)), used

    def _values_of(self, names: Sequence[str]) -> tuple[int, ...]:
        numbers = (self.numbers[name] for name in names if name in self.numbers)
        return tuple(number for number in numbers if number in self.values)

    def _name(self, number: int) -> str:
        entry = (self._block.tensors or ())[number]
        return str(entry.name)

    def _write(self, block: Block) -> bytes:
        region = Region(self._graph.regions[0].name if self._graph.regions else None, (block,))
        return write_graph(Graph(self._graph.version, (region,)))
