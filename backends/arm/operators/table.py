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
    """Whether an operation is a function of one integer."""
    if len(operation.sources) > 1:
        return "it takes several tensors, tables are of one"
    if operation.scales[0].dtype is not operation.result.dtype:
        return "its input and its result mix integers of 8 and 16 bits"
    if operation.result.dtype is torch.int16:
        steps = table_of(operation).long().diff().abs()
        if int(steps.max()) >= 2**15:
            return "it is too steep for a table of 16-bit integers"
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
    kind, shape = value.tensor.dtype, value.tensor.shape
    table = graph.constant(table_of(operation).numpy(), kind, name=f"{name}_table")
    if kind is DType.INT8:
        tensor = graph.emit(tosa.Table(), [value.tensor, table], shape, name=name)
    else:  # what lies between two points has 7 bits more
        fine = graph.emit(tosa.Table(), [value.tensor, table], shape, DType.INT32, name=name)
        tensor = lowering.rescaled(operation, fine, [2.0**-7])
    return Value(tensor, value.order)


def table_of(operation: Operation) -> torch.Tensor:
    """The result for each of the 256 integers of the input, from -128 on; int8.

    Of 16 bits: for every 128th of the 2^16 integers, and for the one behind the last; int16.
    """
    node, result = operation.node, operation.result
    is_wide = result.dtype is torch.int16
    places = torch.arange(-(2**15), 2**15 + 1, 128) if is_wide else torch.arange(-128, 128)
    numbers = operation.scales[0].dequantized(places)

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
    return whole.clamp(*LIMITS[result.dtype]).to(result.dtype)
