"""Settles the memory layout of every value, and inserts the conversions that kernels need.

The kernels of a portable runtime want all tensors of a call in one order of dimensions. Strides of
fake tensors do not say what is possible, so layouts are decided here: channels-last flows from
inputs and explicit conversions through operators that keep it; everywhere else values are
contiguous. A program without such inputs or conversions is not touched.
"""

from typing import Any

import torch

from etlab.exir.ops import CLONE_DIM_ORDER, OutVariant
from etlab.exir.schedule import Call, Role, Schedule, Value
from etlab.exir.specs import TensorSpec, contiguous_order

_CHANNELS_LAST = (0, 2, 3, 1)
_FOLLOWS_INPUT = frozenset(
    {"aten::convolution", "aten::avg_pool2d", "aten::max_pool2d_with_indices"}
)


def settle_layouts(schedule: Schedule) -> None:
    """Give every result an order of dimensions that its kernel can write, in place."""
    _Settler(schedule).run()


def _with_order(spec: TensorSpec, order: tuple[int, ...]) -> TensorSpec:
    return TensorSpec(spec.dtype, spec.sizes, order, spec.dynamism)


class _Settler:
    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._calls: list[Call] = []
        self._converted: dict[tuple[Value, tuple[int, ...]], Value] = {}

    def run(self) -> None:
        for call in self._schedule.calls:
            if all(value.spec is None or value.spec.is_contiguous for value in call.values()):
                self._calls.append(call)
            elif call.operator is None:
                self._settle(call, None)
            elif isinstance(call.operator, OutVariant):
                self._operator(call, call.operator)
            else:
                self._calls.append(call)
        self._schedule.calls = self._calls

    def _operator(self, call: Call, operator: OutVariant) -> None:
        if operator.name.startswith("dim_order_ops::"):
            self._conversion(call)
            return
        if operator.name == "aten::copy_":
            place, source = call.arguments[0], call.arguments[1]
            call.arguments[1] = self._convert(source, place.spec.dim_order)
            self._calls.append(call)
            return
        keeps = operator.base_name in _FOLLOWS_INPUT or (
            call.node is not None
            and isinstance(call.node.target, torch._ops.OpOverload)
            and torch.Tag.pointwise in call.node.target.tags
        )
        read = [value.spec for value in self._read(call) if value.role is not Role.CONSTANT]
        written = {output.spec.dim_order for output in call.outputs if output.spec is not None}
        orders = {spec.dim_order for spec in read if spec is not None and len(spec.sizes) == 4}
        constants = [value.spec for value in self._read(call) if value.role is Role.CONSTANT]
        is_uniform = all(spec is not None and len(spec.sizes) == 4 for spec in read)
        if operator.base_name == "aten::convolution":
            constants = []  # weights may lie either way, and the bias has rank 1
        fits = all(spec is not None and len(spec.sizes) == 4 for spec in constants)
        if keeps and is_uniform and fits and orders == {_CHANNELS_LAST} and written:
            self._settle(call, _CHANNELS_LAST)
        else:
            self._settle(call, None)

    def _conversion(self, call: Call) -> None:
        """Conversions read and write any order; without a stated one they keep the input's."""
        assert call.node is not None
        stated = call.node.kwargs.get("memory_format")
        source, output = call.arguments[0], call.outputs[0]
        if type(source) is Value and stated in (None, torch.preserve_format):
            assert source.spec is not None
            assert output.spec is not None
            output.spec = _with_order(output.spec, source.spec.dim_order)
            call.arguments[2] = list(source.spec.dim_order)
        self._calls.append(call)

    def _read(self, call: Call) -> list[Value]:
        outputs = set(call.outputs)
        return [value for value in call.values() if value.spec and value not in outputs]

    def _settle(self, call: Call, order: tuple[int, ...] | None) -> None:
        """Bring the call's tensors into `order` (contiguous when None)."""
        outputs = set(call.outputs)

        def settle(argument: Any) -> Any:
            if type(argument) is list:
                return [settle(item) for item in argument]
            if type(argument) is not Value or argument.spec is None or argument in outputs:
                return argument
            rank = len(argument.spec.sizes)
            wanted = order if order is not None and rank == 4 else contiguous_order(rank)
            return self._convert(argument, wanted)

        call.arguments = [settle(argument) for argument in call.arguments]
        for output in call.outputs:
            if output.spec is not None:
                rank = len(output.spec.sizes)
                settled = order if order is not None and rank == 4 else contiguous_order(rank)
                output.spec = _with_order(output.spec, settled)
        self._calls.append(call)

    def _convert(self, value: Value, order: tuple[int, ...]) -> Value:
        """The value in another order: at once for constants, by a call for others."""
        assert value.spec is not None
        if value.spec.dim_order == order:
            return value
        key = (value, order)
        if key not in self._converted:
            spec = _with_order(value.spec, order)
            name = (
                f"{value.name}_{'contiguous' if order == contiguous_order(len(order)) else 'nhwc'}"
            )
            converted = Value(
                name, value.role, spec, value.data, node=value.node, target=value.target
            )
            if value.role is not Role.CONSTANT:
                converted = Value(name, Role.RESULT, spec, node=value.node)
                arguments = [value, False, list(order), converted]
                self._calls.append(Call(CLONE_DIM_ORDER, arguments, [converted], value.node))
            self._converted[key] = converted
        return self._converted[key]
