"""Writes execution plans that are made of another one: with more outputs, or with a part of it."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from etlab.exir.emit import schema
from etlab.exir.emit.enums import TensorDataLocation, TensorShapeDynamism
from etlab.exir.emit.scalar_type import ITEM_SIZES, scalar_type_of
from etlab.exir.partition.inside import InsideValue

_ALIGNMENT = 64
_COPY = schema.Operator("dim_order_ops::_clone_dim_order", "out")


def is_constant(value: Any) -> bool:
    """Whether a tensor's elements stand in the file and no arena holds them."""
    if not isinstance(value, schema.Tensor) or value.allocation_info is not None:
        return False
    extra = value.extra_tensor_info
    is_external = extra is not None and extra.location is TensorDataLocation.EXTERNAL
    return is_external or value.data_buffer_idx > 0


def flat_values(values: Sequence[schema.EValue], indices: Iterable[int]) -> list[int]:
    """Indices of values with lists opened: of tensors, and of integers that are values, too."""
    found: list[int] = []
    for index in indices:
        held = values[index].val if 0 <= index < len(values) else None
        if isinstance(held, schema.TensorList | schema.OptionalTensorList | schema.IntList):
            found += [int(item) for item in held.items or () if item >= 0]
        elif held is not None:
            found.append(index)
    return found


class PlanWriter:
    """Collects the changes of one plan.

    Args:
        plan: what it is made of.
        name: of the new method; the old one's by default.
    """

    def __init__(self, plan: schema.ExecutionPlan, *, name: str | None = None) -> None:
        """Start with the plan as it is."""
        self._plan = plan
        self._name = name if name is not None else plan.name
        self._values = list(plan.values or ())
        self._operators = list(plan.operators or ())
        self._arenas = list(plan.non_const_buffer_sizes or (0,))
        self._outputs = list(plan.outputs or ())
        self._added_arguments: dict[int, list[int]] = {}
        self._copies: dict[int, list[tuple[int, int]]] = {}  # step to (value, copy)
        self._inside: dict[tuple[int, int], int] = {}
        self._arena: int | None = None

    def add_delegate_output(self, step: int, number: int, value: InsideValue) -> None:
        """One more output of the delegate that `step` calls."""
        added = self.tensor_of(value)
        self._added_arguments.setdefault(step, []).append(added)
        self._inside[step, number] = added

    def return_value(self, step: int, value: int, *, is_inside: bool) -> None:
        """One more output of the method: what `step` writes to `value`."""
        if is_inside:
            self._outputs.append(self._inside[step, value])
            return
        tensor = self._values[value].val
        assert isinstance(tensor, schema.Tensor)
        copy = self.add(self.placed(tensor))
        self._copies.setdefault(step, []).append((value, copy))
        self._outputs.append(copy)

    def finish(self) -> schema.ExecutionPlan:
        """The plan with all of it."""
        instructions, starts = self._instructions()
        for place, one in enumerate(instructions):
            jump = one.instr_args
            if isinstance(jump, schema.JumpFalseCall):
                target = dataclasses.replace(
                    jump, destination_instruction=starts[jump.destination_instruction]
                )
                instructions[place] = schema.Instruction(target)
        return self.written(instructions, self._plan.inputs or (), self._outputs)

    def _instructions(self) -> tuple[list[schema.Instruction], dict[int, int]]:
        """The instructions with those that were added, and the new place of each old one."""
        written: list[schema.Instruction] = []
        starts: dict[int, int] = {}
        chains = self._plan.chains or ()
        everything = [one for chain in chains for one in chain.instructions or ()]
        for step, one in enumerate(everything):
            starts[step] = len(written)
            call = one.instr_args
            if step in self._added_arguments:
                assert isinstance(call, schema.DelegateCall)
                arguments = (*(call.args or ()), *self._added_arguments[step])
                call = dataclasses.replace(call, args=arguments)
            written.append(schema.Instruction(call))
            written += [self._copy(*pair) for pair in self._copies.get(step, ())]
        starts[len(everything)] = len(written)
        return written, starts

    def _copy(self, value: int, copy: int) -> schema.Instruction:
        operator = self._operator(_COPY)
        no, default = self.add(schema.EValue(schema.Bool(False))), self.add(_NONE)
        return schema.Instruction(schema.KernelCall(operator, (value, no, default, copy, copy)))

    def _operator(self, operator: schema.Operator) -> int:
        if operator not in self._operators:
            self._operators.append(operator)
        return self._operators.index(operator)

    def add(self, value: schema.EValue) -> int:
        """A new value."""
        self._values.append(value)
        return len(self._values) - 1

    def placed(self, tensor: schema.Tensor) -> schema.EValue:
        """A tensor like another one, in memory that nobody else has."""
        count = ITEM_SIZES[tensor.scalar_type]
        for size in tensor.sizes or ():
            count *= size
        if self._arena is None:
            self._arena = len(self._arenas)
            self._arenas.append(0)
        offset = self._arenas[self._arena]
        # Delegates may read a little beyond the end of what they are given.
        self._arenas[self._arena] = offset + (count // _ALIGNMENT + 2) * _ALIGNMENT
        place = schema.AllocationDetails(self._arena, offset & 0xFFFFFFFF, offset >> 32)
        return schema.EValue(
            dataclasses.replace(
                tensor, allocation_info=place, data_buffer_idx=0, extra_tensor_info=None
            )
        )

    def tensor_of(self, value: InsideValue) -> int:
        """A new tensor for a value of a delegate, as that lies in memory."""
        assert value.dtype is not None, "such a value cannot cross the border"
        tensor = schema.Tensor(
            scalar_type_of(value.dtype),
            sizes=value.sizes,
            dim_order=tuple(range(len(value.sizes))),
            shape_dynamism=TensorShapeDynamism.DYNAMIC_BOUND,
        )
        return self.add(self.placed(tensor))

    def written(
        self,
        instructions: Sequence[schema.Instruction],
        inputs: Sequence[int],
        outputs: Sequence[int],
    ) -> schema.ExecutionPlan:
        """The plan with the values that there are now."""
        return dataclasses.replace(
            self._plan,
            name=self._name,
            container_meta_type=schema.ContainerMetadata("", ""),
            values=tuple(self._values),
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            chains=(schema.Chain((), (), tuple(instructions)),),
            operators=tuple(self._operators),
            non_const_buffer_sizes=tuple(self._arenas),
            non_const_buffer_device=None,
        )


_NONE = schema.EValue(schema.Null())
