"""Programs with a field changed, for tests of what a compiler would not write."""

import dataclasses
from collections.abc import Callable

from etlab.exir.emit import schema
from etlab.exir.emit.file import Segment, assemble, read_program

Edit = Callable[[schema.ExecutionPlan], schema.ExecutionPlan]


def edit_program(data: bytes, edit: Edit) -> bytes:
    """The program with its first method's plan edited."""
    content = read_program(data)
    plan, *others = content.program.execution_plan or ()
    program = dataclasses.replace(content.program, execution_plan=(edit(plan), *others))
    segments = [Segment(len(piece), [(0, piece)]) for piece in content.segments]
    return assemble(program, segments)[0].to_bytes()


def edit_tensor(
    plan: schema.ExecutionPlan, value: int, edit: Callable[[schema.Tensor], schema.Tensor]
) -> schema.ExecutionPlan:
    """The plan with the tensor of one value edited."""
    values = list(plan.values or ())
    tensor = values[value].val
    assert isinstance(tensor, schema.Tensor)
    values[value] = dataclasses.replace(values[value], val=edit(tensor))
    return dataclasses.replace(plan, values=tuple(values))


def planned_values(plan: schema.ExecutionPlan) -> list[int]:
    """The indices of the values that have a place in an arena."""
    return [
        index
        for index, value in enumerate(plan.values or ())
        if isinstance(value.val, schema.Tensor) and value.val.allocation_info is not None
    ]
