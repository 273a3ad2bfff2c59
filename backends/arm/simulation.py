"""What TOSA computes in a subgraph, in PyTorch: the same integers as the reference model's."""

from collections.abc import Sequence
from typing import Any

import torch

from etlab.backends.arm.arithmetic import evaluate
from etlab.backends.arm.lowering import Value, lower
from etlab.backends.arm.quantized import (
    DEQUANTIZE,
    DEQUANTIZE_CHANNELS,
    Operation,
    scale_of,
)
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import constant_placeholders


def simulate(subgraph: EdgeGraph, inputs: Sequence[Any]) -> dict[str, Any]:
    """The values of a subgraph's nodes.

    Args:
        subgraph: as the partitioner cut it out.
        inputs: of the delegate, in order.

    Returns:
        Values by node; integers for quantize nodes. What is computed together with its quantize has
        the value that comes out, dequantized.
    """
    lowered = lower(subgraph)
    tensors = evaluate(lowered.whole, inputs)
    values: dict[str, Any] = {}
    for node, tensor in constant_placeholders(subgraph).items():
        values[node.name] = tensor
    for name, value in lowered.values.items():
        values[name] = _logical(value, tensors)
    for operation in lowered.plan.operations.values():
        result = operation.result.dequantized(values[operation.quantize.name])
        for node in operation.members:
            source: Any = node.args[0]
            scale = scale_of(node)
            if str(node.target) == DEQUANTIZE and scale is not None:
                values[node.name] = scale.dequantized(values[source.name])
            elif str(node.target) == DEQUANTIZE_CHANNELS:
                values[node.name] = _weight(operation)
            elif node is not operation.quantize:
                values[node.name] = result
    return values


def _logical(value: Value, tensors: dict[str, torch.Tensor]) -> torch.Tensor:
    """A tensor with the dimensions of its node."""
    rank = len(value.order)
    return tensors[value.tensor.name].permute([value.order.index(dim) for dim in range(rank)])


def _weight(operation: Operation) -> torch.Tensor:
    weight = operation.weight
    assert weight is not None
    shape = [-1 if dim == weight.axis else 1 for dim in range(weight.elements.dim())]
    scales = weight.scales if len(weight.scales) == 1 else weight.scales.reshape(shape)
    floats: torch.Tensor = weight.elements.float() * scales
    return floats
