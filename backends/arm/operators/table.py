"""Functions of one number: a table of what PyTorch computes for all 256 integers."""

from typing import Any

import torch
from torch import fx

from etlab.backends.arm.format import operators as tosa
from etlab.backends.arm.format.operators import DType
from etlab.backends.arm.lowering import Lowering, Value
from etlab.backends.arm.operators.registry import rule
from etlab.backends.arm.quantized import LIMITS, Operation

aten = torch.ops.aten


def why_not_table(operation: Operation) -> str | None:
    """Whether an operation is a function of one 8-bit integer."""
    if operation.scales[0].dtype is not torch.int8 or operation.result.dtype is not torch.int8:
        return "its input or result has 16 bits, tables are of 8: quantize with int8-arm"
    if len(operation.sources) > 1:
        return "it takes several tensors, tables are of one"
    return None


@rule(
    aten.elu.default,
    aten.erf.default,
    aten.exp.default,
    aten.gelu.default,
    aten.hardsigmoid.default,
    aten.hardswish.default,
    aten.leaky_relu.default,
    aten.log.default,
    aten.reciprocal.default,
    aten.rsqrt.default,
    aten.sigmoid.default,
    aten.silu.default,
    aten.sqrt.default,
    aten.tanh.default,
    why_not=why_not_table,
    is_kept=True,
)
@rule(
    aten.abs.default,
    aten.cos.default,
    aten.div.Scalar,
    aten.neg.default,
    aten.pow.Tensor_Scalar,
    aten.sin.default,
    why_not=why_not_table,
)
def table(lowering: Lowering, operation: Operation) -> Value:
    """The table is quantized as PT2E quantizes: what it simulates is what comes out."""
    value = lowering.source(operation)
    graph, name = lowering.graph, operation.quantize.name
    table = graph.constant(table_of(operation).numpy(), DType.INT8, name=f"{name}_table")
    tensor = graph.emit(tosa.Table(), [value.tensor, table], value.tensor.shape, name=name)
    return Value(tensor, value.order)


def table_of(operation: Operation) -> torch.Tensor:
    """The result for each of the 256 integers of the input, from -128 on; int8."""
    node, result = operation.node, operation.result
    numbers = operation.scales[0].dequantized(torch.arange(-128, 128))

    def of(value: Any) -> Any:
        if isinstance(value, fx.Node):
            return operation.numbers.get(value, numbers)
        return value

    target: Any = node.target
    floats = target(*map(of, node.args), **{key: of(value) for key, value in node.kwargs.items()})
    if operation.activation is not None:
        limit: Any = operation.activation.target
        floats = limit(floats, *operation.activation.args[1:], **operation.activation.kwargs)
    scaled = torch.nan_to_num(floats, nan=0.0) * (1.0 / result.scale)
    whole = torch.round(scaled.clamp(-1e6, 1e6)) + result.zero_point
    return whole.clamp(*LIMITS[torch.int8]).to(torch.int8)
