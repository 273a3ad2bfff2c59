"""Lets every kernel see one memory layout: conversions for what comes in another.

Inside an edge graph every tensor is contiguous; only inputs (and buffers) can lie otherwise. The
kernels of a portable runtime want all tensors of a call in one order of dimensions, so whatever
reads such a tensor reads a contiguous copy of it, made once. `_clone_dim_order` and its like take
any order; they are how a program states a layout. Outputs that eager returns with the channels
innermost are such clones (`EdgeGraph.output_orders`); other layouts that views leave in eager
come out contiguous, as from ExecuTorch.
"""

from typing import Any

from etlab.exir.ops import CLONE_DIM_ORDER, OutVariant
from etlab.exir.schedule import Call, Flow, Role, Schedule, Value
from etlab.exir.specs import TensorSpec, contiguous_order


def settle_layouts(schedule: Schedule) -> None:
    """Insert the conversions that the calls of a schedule need, in place."""
    if all(_is_settled(value) for call in schedule.calls for value in call.values()):
        return
    calls: list[Call] = []
    converted: dict[Value, Value] = {}
    for call in schedule.calls:
        if not _takes_any_layout(call):
            outputs = set(call.outputs)
            call.arguments = [
                _settle(argument, outputs, converted, calls) for argument in call.arguments
            ]
            for output in call.outputs:
                if output.role is Role.RESULT and output.spec is not None:
                    output.spec = _contiguous(output.spec)
        if isinstance(call.operator, Flow):
            converted.clear()  # what was made in one branch is not made in another
        calls.append(call)
    schedule.calls = calls


def _is_settled(value: Value) -> bool:
    return value.spec is None or value.spec.is_contiguous


def _takes_any_layout(call: Call) -> bool:
    if isinstance(call.operator, OutVariant):
        return call.operator.name.startswith("dim_order_ops::")
    return call.delegate is not None and bool(call.delegate.takes_any_layout)


def _contiguous(spec: TensorSpec) -> TensorSpec:
    return TensorSpec(spec.dtype, spec.sizes, contiguous_order(len(spec.sizes)), spec.dynamism)


def _settle(
    argument: Any, outputs: set[Value], converted: dict[Value, Value], calls: list[Call]
) -> Any:
    """An argument, contiguous: at once for constants, by a call for what is known at run time."""
    if type(argument) is list:
        return [_settle(item, outputs, converted, calls) for item in argument]
    if type(argument) is not Value or argument in outputs or _is_settled(argument):
        return argument
    if argument not in converted:
        assert argument.spec is not None
        copy = Value(f"{argument.name}_contiguous", Role.RESULT, _contiguous(argument.spec))
        copy.node, copy.target = argument.node, argument.target
        if argument.role is Role.CONSTANT:
            copy.role, copy.data = Role.CONSTANT, argument.data
            copy.external_tag = argument.external_tag
        else:
            assert copy.spec is not None
            arguments = [argument, False, list(copy.spec.dim_order), copy]
            calls.append(Call(CLONE_DIM_ORDER, arguments, [copy], argument.node))
        converted[argument] = copy
    return converted[argument]
