"""Writes the execution plan of a region: some instructions, and cut delegates."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etlab.exir.emit import schema
from etlab.exir.partition.inside import InsideValue
from etlab.numerics.plans import PlanWriter, is_constant


@dataclass(frozen=True, slots=True)
class Cut:
    """A delegate that computes a part of another one.

    Attributes:
        delegate: its index among the delegates.
        inputs: new values that it is given first.
        border: values of the old plan that it is given then.
        results: values of the old plan that it writes.
        output: the tensor of the region, where it computes that.
    """

    delegate: int
    inputs: Sequence[int]
    border: Sequence[int]
    results: Sequence[int]
    output: InsideValue | None


class RegionWriter:
    """Collects a plan in which every tensor has memory of its own.

    Args:
        plan: what it is made of.
        name: of the new method.
    """

    def __init__(self, plan: schema.ExecutionPlan, name: str) -> None:
        """Start with no values and no instructions."""
        self._plan = plan
        self._delegates = list(plan.delegates or ())
        empty = dataclasses.replace(plan, values=(), outputs=(), non_const_buffer_sizes=(0,))
        self._writer = PlanWriter(empty, name=name)
        self._numbers: dict[int, int] = {}
        self._inputs: list[int] = []
        self._given: set[int] = set()
        self._calls: list[schema.Instruction] = []
        self._output: int | None = None
        chains = plan.chains or ()
        self._all = [one.instr_args for chain in chains for one in chain.instructions or ()]

    def give(self, values: Sequence[int]) -> None:
        """Inputs of the method: values of the old plan."""
        self._inputs += [self._use(index) for index in values]
        self._given |= set(values)

    def give_inside(self, values: Sequence[InsideValue]) -> list[int]:
        """Inputs of the method: values inside of a delegate; returns their new places."""
        places = [self._writer.tensor_of(value) for value in values]
        self._inputs += places
        return places

    def add_delegate(self, like: int) -> int:
        """One more delegate, of the backend of another; returns its index."""
        self._delegates.append(self._delegates[like])
        return len(self._delegates) - 1

    def call(self, step: int, writes: Collection[int]) -> None:
        """An instruction as it is; what it writes although it is given goes to a spare place."""
        spare = self._given & set(writes)

        def place(index: int) -> int:
            if index not in spare:
                return self._use(index)
            return self._writer.add(self._own((self._plan.values or ())[index]))

        self._calls.append(schema.Instruction(_with_values(self._all[step], place)))

    def call_cut(self, cut: Cut) -> None:
        """A cut delegate."""
        arguments = [*cut.inputs, *map(self._use, cut.border), *map(self._use, cut.results)]
        if cut.output is not None:
            self._output = self._writer.tensor_of(cut.output)
            arguments.append(self._output)
        self._calls.append(schema.Instruction(schema.DelegateCall(cut.delegate, tuple(arguments))))

    def finish(self, output: int | None) -> schema.ExecutionPlan:
        """The plan; its output is a value of the old plan, or the last cut's."""
        result = self._output if output is None else self._use(output)
        assert result is not None
        plan = self._writer.written(self._calls, self._inputs, [result])
        return dataclasses.replace(plan, delegates=tuple(self._delegates))

    def _use(self, index: int) -> int:
        """The new place of a value of the old plan."""
        values = self._plan.values or ()
        if index < 0 or index >= len(values):
            return index
        if index not in self._numbers:
            self._numbers[index] = self._writer.add(self._own(values[index]))
        return self._numbers[index]

    def _own(self, value: schema.EValue) -> schema.EValue:
        held = value.val
        if isinstance(held, schema.TensorList | schema.OptionalTensorList | schema.IntList):
            items = tuple(self._use(item) for item in held.items or ())
            return schema.EValue(dataclasses.replace(held, items=items))
        if isinstance(held, schema.Tensor) and not is_constant(held):
            return self._writer.placed(held)
        return value


_VALUE_FIELDS: Mapping[type, tuple[str, ...]] = {
    schema.MoveCall: ("move_from", "move_to"),
    schema.FreeCall: ("value_index",),
}


def _with_values(call: Any, use: Any) -> Any:
    """A call with other numbers of values."""
    if isinstance(call, schema.KernelCall | schema.DelegateCall):
        return dataclasses.replace(call, args=tuple(use(index) for index in call.args or ()))
    fields = _VALUE_FIELDS[type(call)]
    return dataclasses.replace(call, **{name: use(getattr(call, name)) for name in fields})
