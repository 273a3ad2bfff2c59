"""Emits one method: its values, operators, delegates and instructions."""

import dataclasses
from typing import Any, Protocol

import torch
from torch.utils import _pytree as pytree

from etlab.errors import InternalError, LoweringError, MemoryPlanError
from etlab.exir.emit import schema
from etlab.exir.emit.constants import DataTable
from etlab.exir.emit.enums import TensorDataLocation
from etlab.exir.emit.external import ExternalData
from etlab.exir.emit.frames import frames_of
from etlab.exir.emit.nesting import tree_text
from etlab.exir.emit.scalar_type import scalar_type_of
from etlab.exir.emit.values import ValueTable
from etlab.exir.memory.planning import PlannedMemory
from etlab.exir.ops import Argument, OutVariant
from etlab.exir.schedule import Call, Flow, Role, Schedule, Value
from etlab.exir.specs import Bounds

_LARGEST_SIZE = 2**31


class Shared(Protocol):
    """What the methods of a program have in common."""

    emit_stacktrace: bool
    emit_mutable_buffer_names: bool
    constants: DataTable
    state: DataTable
    external: ExternalData

    def delegate(self, module: Any) -> schema.BackendDelegate:
        """The entry of a lowered module."""


def emit_method(schedule: Schedule, memory: PlannedMemory, shared: Shared) -> schema.ExecutionPlan:
    """The execution plan of a method.

    Raises:
        LoweringError: something has no form in a program.
        MemoryPlanError: a value that needs memory has no place in the plan.
    """
    return _MethodEmitter(schedule, memory, shared).emit()


def tensor_entry(value: Value, buffer_index: int) -> schema.Tensor:
    """A tensor value without a place in an arena."""
    spec = value.spec
    assert spec is not None
    if any(size >= _LARGEST_SIZE for size in spec.sizes):
        raise LoweringError(
            f"'{value.name}' has sizes {spec.sizes}; a program stores 32 bits a size"
        )
    return schema.Tensor(
        scalar_type=scalar_type_of(spec.dtype),
        sizes=spec.sizes,
        dim_order=spec.dim_order,
        data_buffer_idx=buffer_index,
        shape_dynamism=spec.dynamism,
    )


class _MethodEmitter:
    def __init__(self, schedule: Schedule, memory: PlannedMemory, shared: Shared) -> None:
        self._schedule = schedule
        self._memory = memory
        self._shared = shared
        self._table = ValueTable()
        self._indices: dict[Value, int] = {}
        self._operators: dict[tuple[str, str], int] = {}
        self._delegates: list[schema.BackendDelegate] = []

    def emit(self) -> schema.ExecutionPlan:
        schedule = self._schedule
        inputs = tuple(self._index(value) for value in schedule.inputs)
        instructions = tuple(self._instruction(call) for call in schedule.calls)
        outputs = tuple(self._output(output) for output in schedule.outputs)
        frames = None
        if self._shared.emit_stacktrace:
            frames = tuple(frames_of(call.node) for call in schedule.calls)
        sizes = self._memory.arena_sizes
        return schema.ExecutionPlan(
            name=schedule.name,
            container_meta_type=schema.ContainerMetadata(
                tree_text(schedule.in_spec), tree_text(schedule.out_spec)
            ),
            values=tuple(self._table.entries),
            inputs=inputs,
            outputs=outputs,
            chains=(schema.Chain((), (), instructions, frames),),
            operators=tuple(schema.Operator(*names) for names in self._operators),
            delegates=tuple(self._delegates),
            non_const_buffer_sizes=(0, *(sizes[place] for place in sorted(sizes))),
        )

    def _instruction(self, call: Call) -> schema.Instruction:
        if call.operator is None:
            places = [self._delegate_argument(item, call) for item in call.arguments]
            places += [self._index(output) for output in call.outputs]
            self._delegates.append(self._shared.delegate(call.delegate))
            return schema.Instruction(schema.DelegateCall(len(self._delegates) - 1, tuple(places)))
        if isinstance(call.operator, Flow):
            return self._flow(call)
        names = (call.operator.name, call.operator.overload)
        place = self._operators.setdefault(names, len(self._operators))
        if isinstance(call.operator, OutVariant):
            arguments = [
                self._argument(value, argument, call)
                for argument, value in zip(call.operator.arguments, call.arguments, strict=True)
            ]
            arguments.append(self._returned(call, call.operator))
        else:
            arguments = [self._number(item, call) for item in call.arguments]
            if call.operator.returns:
                arguments.append(self._index(call.outputs[0]))
        return schema.Instruction(schema.KernelCall(place, tuple(arguments)))

    def _flow(self, call: Call) -> schema.Instruction:
        source = self._number(call.arguments[0], call)
        if call.operator is Flow.MOVE:
            return schema.Instruction(schema.MoveCall(source, self._index(call.outputs[0])))
        assert call.label is not None
        return schema.Instruction(schema.JumpFalseCall(source, call.label.position))

    def _argument(self, value: Any, argument: Argument, call: Call) -> int:
        if type(value) is Value:
            return self._index(value)
        if type(value) is list and argument.base == "Tensor":
            items = [None if item is None else self._index(item) for item in value]
            return self._table.tensor_list(items, has_optional_items=argument.has_optional_items)
        if type(value) is list and any(type(item) is Value for item in value):
            return self._table.integer_list([self._number(item, call) for item in value])
        return self._table.constant(value, argument, _where(call))

    def _returned(self, call: Call, operator: OutVariant) -> int:
        """The entry that stands for the kernel's return value, after its arguments."""
        outs = [
            value
            for value, argument in zip(call.arguments, operator.arguments, strict=True)
            if argument.is_out
        ]
        is_list = any(type(out) is list for out in outs)
        # What is written in place is returned where nothing else is.
        returned = (outs[0] if is_list else outs) if outs else call.outputs
        places = [self._index(output) for output in returned]
        if len(places) == 1 and not is_list:
            return places[0]
        return self._table.tensor_list(places)

    def _number(self, item: Any, call: Call) -> int:
        if type(item) is Value:
            return self._index(item)
        index = self._table.any_constant(item)
        if index is None:
            raise LoweringError(f"{_where(call)}: a program cannot hold the argument {item!r}")
        return index

    def _delegate_argument(self, item: Any, call: Call) -> int:
        if type(item) is list:
            return self._table.tensor_list([self._index(value) for value in item])
        return self._number(item, call)

    def _output(self, output: Any) -> int:
        if isinstance(output, Value):
            return self._index(output)
        index = self._table.any_constant(output)
        if index is None:
            raise LoweringError(
                f"method '{self._schedule.name}' returns {output!r}; a program returns tensors,"
                " numbers, strings and None"
            )
        return index

    def _index(self, value: Value) -> int:
        index = self._indices.get(value)
        if index is None:
            index = self._indices[value] = self._table.add(self._entry(value))
        return index

    def _entry(self, value: Value) -> schema.KernelTypes:
        if value.spec is None:
            return self._number_entry(value)
        root = value.root
        if root.role is Role.CONSTANT:
            assert root.data is not None
            assert root.spec is not None
            if root.external_tag is not None:
                return self._external_entry(value, root)
            index = self._shared.constants.add(root.data, root.spec.dim_order, _name(root))
            return tensor_entry(value, index)
        if not root.is_planned:
            return tensor_entry(value, 0)
        return self._planned_entry(value, root)

    def _external_entry(self, value: Value, root: Value) -> schema.Tensor:
        assert root.data is not None
        assert root.spec is not None
        assert root.external_tag is not None
        name = _name(root)
        own = f"{self._schedule.name}.{name}"
        key = self._shared.external.add(root.external_tag, root.data, root.spec, name=name, own=own)
        extra = schema.ExtraTensorInfo(
            fully_qualified_name=key, location=TensorDataLocation.EXTERNAL
        )
        return dataclasses.replace(tensor_entry(value, 0), extra_tensor_info=extra)

    def _number_entry(self, value: Value) -> schema.KernelTypes:
        table = ValueTable()
        if table.any_constant(value.number) is None:
            raise LoweringError(
                f"input '{value.name}' is {value.number!r}; a program takes tensors, numbers,"
                " strings and None"
            )
        entry = table.entries[0].val
        assert entry is not None
        return entry

    def _planned_entry(self, value: Value, root: Value) -> schema.Tensor:
        place = self._memory.places.get(root)
        if place is None:
            raise MemoryPlanError(
                f"'{value.name}' of method '{self._schedule.name}' has no place in the memory plan"
            )
        index, extra = 0, None
        if root.role is Role.STATE:
            if root.data is None or root.spec is None:
                raise InternalError(f"state '{root.name}' has no initial value")
            index = self._shared.state.add(root.data, root.spec.dim_order, _name(root))
            if self._shared.emit_mutable_buffer_names:
                extra = schema.ExtraTensorInfo(fully_qualified_name=root.target)
        entry = tensor_entry(value, index)
        memory_id, offset = place
        allocation = schema.AllocationDetails(memory_id, offset & 0xFFFFFFFF, offset >> 32)
        return schema.Tensor(
            scalar_type=entry.scalar_type,
            sizes=entry.sizes,
            dim_order=entry.dim_order,
            data_buffer_idx=index,
            allocation_info=allocation,
            shape_dynamism=entry.shape_dynamism,
            extra_tensor_info=extra,
        )


def _name(value: Value) -> str:
    return value.target or value.name


def _where(call: Call) -> str:
    node = f" at node '{call.node.name}'" if call.node is not None else ""
    return f"{call.name}{node}"


def constant_plan(name: str, value: Any, shared: Shared) -> schema.ExecutionPlan:
    """The plan of a method that returns a constant: a number, string, tensor, or a tree of them.

    Raises:
        LoweringError: a leaf is something else.
    """
    leaves, spec = pytree.tree_flatten(value)
    table = ValueTable()
    outputs: list[int] = []
    for leaf in leaves:
        index = table.any_constant(leaf)
        if isinstance(leaf, torch.Tensor):
            index = table.add(_constant_tensor(name, leaf, shared))
        if index is None:
            raise LoweringError(
                f"constant method '{name}' returns {leaf!r}; it may return numbers, strings,"
                " tensors, None, and lists, tuples and dicts of them"
            )
        outputs.append(index)
    return schema.ExecutionPlan(
        name=name,
        container_meta_type=schema.ContainerMetadata("", tree_text(spec)),
        values=tuple(table.entries),
        inputs=(),
        outputs=tuple(outputs),
        chains=(schema.Chain((), (), ()),),
        operators=(),
        delegates=(),
        non_const_buffer_sizes=(0,),
    )


def _constant_tensor(name: str, tensor: torch.Tensor, shared: Shared) -> schema.Tensor:
    spec = Bounds({}).spec_of(tensor, f"constant method '{name}'")
    value = Value(name, Role.CONSTANT, spec, tensor)
    return tensor_entry(value, shared.constants.add(tensor.detach(), spec.dim_order, name))
