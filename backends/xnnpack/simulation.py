"""What XNNPACK computes in a subgraph, in PyTorch: integers where it computes with integers.

PT2E's own simulation computes with floats between conversions: a float bias, sums and products that
round elsewhere. Here every operator that `quantized.plan_quantized` gives to integers follows
XNNPACK's rules (`simulation_rules.py`) and is the device's to the last integer. All others, softmax
and norms among them, compute with floats on the device too and are PyTorch's here: where their last
bits differ, an integer behind them may be one step off.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from etlab.backends.xnnpack import simulation_rules as rules
from etlab.backends.xnnpack.quantized import DEQUANTIZE, QUANTIZE, per_tensor, plan_quantized
from etlab.backends.xnnpack.simulation_rows import simulate_rows
from etlab.backends.xnnpack.steps import PerGroup, PerTensor
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import constant_placeholders, is_getitem, map_values


def simulate(subgraph: EdgeGraph, inputs: Sequence[Any]) -> dict[str, Any]:
    """The values of a subgraph's nodes.

    Args:
        subgraph: as the partitioner cut it out.
        inputs: of the delegate, in order.

    Returns:
        Values by node; integers for quantize nodes. What is computed together with another node
        has the value that comes out, dequantized.
    """
    return _Simulation(subgraph).run(inputs)


class _Simulation:
    def __init__(self, subgraph: EdgeGraph) -> None:
        self._graph = subgraph.graph
        self._constants = constant_placeholders(subgraph)
        self._plan = plan_quantized(self._graph, self._constants)
        self._quantized_by = {quantize: node for node, quantize in self._plan.static.items()}
        self._values: dict[fx.Node, Any] = {}
        self._integers: dict[fx.Node, torch.Tensor] = {}

    def run(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """Go through the nodes."""
        given = iter(inputs)
        with torch.no_grad():
            for node in self._graph.nodes:
                if node.op == "placeholder":
                    is_constant = node in self._constants
                    value = self._constants[node] if is_constant else next(given)
                    self._values[node] = value
                elif node.op == "call_function":
                    self._values[node] = self._compute(node)
        return {node.name: value for node, value in self._values.items()}

    def _compute(self, node: fx.Node) -> Any:
        if node in self._plan.static:
            quantize = self._plan.static[node]
            result = per_tensor(quantize)
            assert result is not None
            self._integers[quantize] = self._integer(node, result, self._limits(quantize, node))
            return rules.dequantized(self._integers[quantize], result)
        if node in self._quantized_by:
            return self._integers[node]
        if node in self._plan.fused or self._is_picked(node):
            source: Any = node.args[0]
            return self._values[source]
        if str(node.target) == QUANTIZE and (scale := per_tensor(node)) is not None:
            return rules.quantized(self._argument(node, 0), scale)
        if str(node.target) == DEQUANTIZE and (scale := per_tensor(node)) is not None:
            return rules.dequantized(self._argument(node, 0), scale)
        if node in self._plan.dynamic and not self._is_grouped(node):
            source = self._plan.dynamic[node]
            bias = self._argument(node, 2) if len(node.args) > 2 else None
            weight = self._plan.weights[node.args[1]]  # type: ignore[index]
            return simulate_rows(node, self._values[source], weight, bias)
        arguments, keywords = map_values(self._of, (tuple(node.args), dict(node.kwargs)))
        target: Any = node.target
        return target(*arguments, **keywords)

    def _is_picked(self, node: fx.Node) -> bool:
        """Whether it picks the result of an operator on integers that has several."""
        return is_getitem(node) and node.args[0] in self._plan.static

    def _is_grouped(self, node: fx.Node) -> bool:
        return isinstance(self._plan.weights[node.args[1]].quantization, PerGroup)  # type: ignore[index]

    def _of(self, value: Any) -> Any:
        return self._values[value] if isinstance(value, fx.Node) else value

    def _argument(self, node: fx.Node, place: int) -> Any:
        return self._of(node.args[place])

    def _limits(self, quantize: fx.Node, node: fx.Node) -> tuple[float, float]:
        """The range that an activation between an operator and its quantize limits to."""
        between: Any = quantize.args[0]
        is_activation = between is node or between in self._plan.fused
        return rules.limits_of(between) if is_activation else rules.NO_LIMITS

    def _operand(self, node: Any) -> rules.Operand:
        """Integers of an input: behind its dequantize, or a constant's."""
        weight = self._plan.weights.get(node)
        if weight is not None and isinstance(weight.quantization, PerTensor):
            return rules.Operand(weight.elements, weight.quantization)
        scale = per_tensor(node)
        assert scale is not None
        return rules.Operand(self._values[node.args[0]], scale)

    def _integer(
        self, node: fx.Node, result: PerTensor, limits: tuple[float, float]
    ) -> torch.Tensor:
        name = str(node.target)
        if name in rules.PRODUCTS:
            source, padding = rules.padded_source(node)
            weight = self._plan.weights[node.args[1]]  # type: ignore[index]
            bias = self._argument(node, 2) if len(node.args) > 2 else None
            operand = self._operand(source)
            return rules.product(node, operand, padding, weight, bias, result, limits)
        operands = [self._operand(source) for source in node.all_input_nodes]
        if len(operands) == 1 and len(node.args) > 1 and node.args[1] is node.args[0]:
            operands *= 2  # x + x, x * x
        return rules.RULES[name](node, operands, result, limits)
