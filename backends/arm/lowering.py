"""A quantized edge graph as a TOSA graph.

TOSA's pictures have their channels last. Values stay in the order that their operator made, and are
transposed where somebody wants another one, once for each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from etlab.backends.arm.builder import GraphBuilder, Tensor
from etlab.backends.arm.format.file import write_graph
from etlab.backends.arm.format.operators import DType
from etlab.backends.arm.format.schema import Graph
from etlab.backends.arm.operators.registry import all_rules
from etlab.backends.arm.quantized import LIMITS, Operation, Plan, Scale, plan_operations
from etlab.errors import LoweringError
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import constant_placeholders

Sides = Sequence[tuple[int, int]]  # what is added before and behind, by dimension
ELEMENTS = {torch.int8: DType.INT8, torch.int16: DType.INT16, torch.int32: DType.INT32}


@dataclass(frozen=True, slots=True)
class Value:
    """A node's integers in the graph.

    Attributes:
        tensor: that holds them.
        order: dimension `order[i]` of the node is dimension i of the tensor.
    """

    tensor: Tensor
    order: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the node."""
        return tuple(self.tensor.shape[self.order.index(dim)] for dim in range(len(self.order)))


@dataclass(frozen=True, slots=True)
class Lowered:
    """A subgraph as TOSA.

    Attributes:
        graph: its content; inputs and outputs are those of the subgraph, in order.
        whole: the same with operators that nobody reads, so that every value has its tensor.
        values: the tensors of nodes whose integers it holds, by name.
        plan: what was lowered.
    """

    graph: Graph
    whole: Graph
    values: dict[str, Value]
    plan: Plan

    @property
    def data(self) -> bytes:
        """The graph as bytes."""
        return write_graph(self.graph)


def lower(edge: EdgeGraph) -> Lowered:
    """Lower a subgraph that a partitioner cut out.

    Raises:
        LoweringError: it has nodes that the partitioner would not take.
    """
    return Lowering(constant_placeholders(edge)).run(edge)


def lower_alone(operation: Operation, constants: Mapping[fx.Node, torch.Tensor]) -> Graph:
    """Lower one operation; what it reads are inputs of the graph."""
    return Lowering(constants).run_alone(operation)


class Lowering:
    """The graph while it grows, and the values that nodes have in it.

    Attributes:
        graph: takes the operators.
    """

    def __init__(self, constants: Mapping[fx.Node, torch.Tensor]) -> None:
        self._constants = constants
        self._values: dict[fx.Node, Value] = {}
        self._arranged: dict[tuple[str, tuple[int, ...]], Tensor] = {}
        self._padded: dict[str, tuple[Value, Sides]] = {}
        self.graph = GraphBuilder()

    def run(self, edge: EdgeGraph) -> Lowered:
        """Lower all of a graph."""
        plan = plan_operations(edge.graph.nodes, self._constants, tuple(all_rules()))
        for node in edge.graph.nodes:
            if node.op == "placeholder" and node not in self._constants:
                self._give(node)
            elif node.op == "call_function":
                self._lower(node, plan)
        results: Any = edge.graph.output_node().args[0]
        for node in results:
            value = self.value(node)
            self.graph.output(self.arranged(value, tuple(range(len(value.order)))))
        named = {node.name: value for node, value in self._values.items()}
        whole = self.graph.finish(keeps_all=True)
        return Lowered(self.graph.finish(), whole, named, plan)

    def run_alone(self, operation: Operation) -> Graph:
        """Lower one operation of a graph."""
        for source in operation.sources:
            node: Any = source.args[0]
            if node not in self._constants and node not in self._values:
                self._give(node)
        value = all_rules()[str(operation.node.target)].lower(self, operation)
        self.graph.output(value.tensor)
        return self.graph.finish()

    def _give(self, node: fx.Node) -> None:
        """Make a node an input."""
        val = node.meta["val"]
        if val.dtype not in ELEMENTS:
            raise LoweringError(
                f"TOSA graphs here are of integers, input '{node.name}' is {val.dtype}: "
                "quantize the model (int8-arm), and let the partitioner choose"
            )
        tensor = self.graph.input(node.name, val.shape, ELEMENTS[val.dtype])
        self._values[node] = Value(tensor, tuple(range(val.dim())))

    def _lower(self, node: fx.Node, plan: Plan) -> None:
        operation = plan.operations.get(node)
        if operation is None:
            if node not in plan.owner:
                reason = plan.reasons.get(node, "no rule")
                raise LoweringError(f"TOSA cannot compute '{node.name}' ({node.target}): {reason}")
            return
        self._values[operation.quantize] = all_rules()[str(node.target)].lower(self, operation)

    def value(self, node: fx.Node) -> Value:
        """The integers of a node: a quantize, an input, a constant, or what a dequantize reads."""
        if node in self._values:
            return self._values[node]
        if node in self._constants:
            tensor = self._constants[node]
            made = self.graph.constant(tensor.numpy(), ELEMENTS[tensor.dtype], name=node.name)
            self._values[node] = Value(made, tuple(range(tensor.dim())))
            return self._values[node]
        source: Any = node.args[0]
        return self.value(source)

    def source(self, operation: Operation, index: int = 0) -> Value:
        """The integers of an input."""
        return self.value(operation.sources[index])

    def arranged(self, value: Value, order: Sequence[int]) -> Tensor:
        """A value whose dimensions lie in an order."""
        moves = tuple(value.order.index(dim) for dim in order)
        key = (value.tensor.name, moves)
        if key not in self._arranged:
            self._arranged[key] = self.graph.transpose(value.tensor, moves)
        return self._arranged[key]

    def keep_padding(self, padded: Value, source: Value, sides: Sides) -> None:
        """Remember that a value is another one with zeros around it, in the node's dimensions."""
        self._padded[padded.tensor.name] = source, sides

    def without_padding(self, value: Value) -> tuple[Value, Sides]:
        """What a value is without zeros around it, and these; itself where it has none."""
        none = [(0, 0)] * len(value.order)
        return self._padded.get(value.tensor.name, (value, none))

    def plain(self, value: Value) -> Tensor:
        """A value whose dimensions lie in the node's own order."""
        return self.arranged(value, range(len(value.order)))

    def moved(self, operation: Operation, tensor: Tensor) -> Tensor:
        """Elements of the first input's scale in the result's, within the activation's limits."""
        return self.rescaled(
            operation, tensor, [operation.scales[0].scale / operation.result.scale]
        )

    def rescaled(
        self, operation: Operation, tensor: Tensor, ratios: Sequence[float], zero_point: Any = None
    ) -> Tensor:
        """Integers in the result's scale, within the activation's limits.

        Args:
            operation: whose result it is.
            tensor: sums, or integers of the first input's scale.
            ratios: its steps in those of the result; one for each channel, or one.
            zero_point: of the integers; None: the first input's, if they are no sums.
        """
        result = operation.result
        is_sum = tensor.dtype in (DType.INT32, DType.INT48)
        if zero_point is None:
            zero_point = 0 if is_sum else operation.scales[0].zero_point
        name = operation.quantize.name
        is_same = not is_sum and set(ratios) == {1.0} and zero_point == result.zero_point
        if not is_same or ELEMENTS[result.dtype] is not tensor.dtype:
            tensor = self.graph.rescale(
                tensor,
                ratios,
                zero_point=zero_point,
                result_zero_point=result.zero_point,
                dtype=ELEMENTS[result.dtype],
                name=name,
            )
        if operation.limits() != LIMITS[result.dtype]:
            tensor = self.graph.clamp(tensor, *operation.limits(), name=f"{name}_limited")
        return tensor


def widened(lowering: Lowering, tensor: Tensor, scale: Scale, ratio: float, name: str) -> Tensor:
    """Integers without their zero point, as int32, times a ratio."""
    return lowering.graph.rescale(
        tensor,
        [ratio],
        zero_point=scale.zero_point,
        result_zero_point=0,
        dtype=DType.INT32,
        name=name,
    )
