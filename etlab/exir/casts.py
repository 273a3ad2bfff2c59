"""Inserts the dtype conversions that eager does inside an operator and the official kernels do not.

cat([int32, float32]) -> float32      each tensor is converted to the result's dtype first
where(c, float32, float64 of rank 0)  so are these
add(bool, 3) -> int64                 and this
gather(x, 0, index int32)             the index is converted to int64 first
"""

from typing import Any

import torch

from etlab.exir.ops import OutVariant, find_out_variant
from etlab.exir.schedule import Call, Flow, Role, Schedule, Value
from etlab.exir.specs import TensorSpec

_JOINS = frozenset({"aten::cat", "aten::stack"})
_INDEXED = frozenset({"aten::gather", "aten::scatter", "aten::scatter_add"})
_SUMS_WITH_NUMBERS = frozenset({"aten::add.Scalar_out", "aten::sub.Scalar_out"})
_CONVERT = find_out_variant(torch.ops.aten._to_copy.default)


def insert_casts(schedule: Schedule) -> None:
    """Convert what a kernel of the official runtime would refuse or misread, in place."""
    calls: list[Call] = []
    converted: dict[tuple[Value, torch.dtype], Value] = {}

    def convert(value: Any, dtype: torch.dtype, call: Call) -> Any:
        if type(value) is not Value or value.spec is None or value.spec.dtype == dtype:
            return value
        key = (value, dtype)
        if key not in converted:
            old = value.spec
            spec = TensorSpec(dtype, old.sizes, old.dim_order, old.dynamism)
            name = f"{value.name}_{str(dtype).removeprefix('torch.')}"
            result = Value(name, Role.RESULT, spec, node=call.node)
            arguments = [value, False, list(spec.dim_order), result]
            calls.append(Call(_CONVERT, arguments, [result], call.node))
            converted[key] = result
        return converted[key]

    for call in schedule.calls:
        operator = call.operator
        if isinstance(operator, OutVariant):
            spec = call.outputs[0].spec
            if operator.base_name in _JOINS and spec is not None:
                items = call.arguments[0]
                call.arguments[0] = [convert(item, spec.dtype, call) for item in items]
            elif operator.full_name in _SUMS_WITH_NUMBERS and spec is not None:
                call.arguments[0] = convert(call.arguments[0], spec.dtype, call)
            elif operator.base_name == "aten::where" and spec is not None:
                call.arguments[1:3] = [convert(v, spec.dtype, call) for v in call.arguments[1:3]]
            elif operator.base_name in _INDEXED:
                call.arguments[2] = convert(call.arguments[2], torch.int64, call)
        elif isinstance(operator, Flow):
            converted.clear()  # what was made in one branch, or from an older value, is not here
        calls.append(call)
        for key in [key for key in converted if key[0] in call.outputs]:
            del converted[key]
    schedule.calls = calls
