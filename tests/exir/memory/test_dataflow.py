import dataclasses

import torch
from exir.lowering import Function, lower, seeded

from etlab.exir.emit import schema
from etlab.exir.emit.enums import TensorDataLocation
from etlab.exir.emit.file import read_program
from etlab.exir.emit.scalar_type import ScalarType
from etlab.exir.memory.dataflow import clobbered_values, unwritten_values

ADD = 0


def _tensor(offset: int, size: int = 4, buffer: int = 0) -> schema.EValue:
    place = schema.AllocationDetails(1, offset)
    return schema.EValue(
        schema.Tensor(
            scalar_type=ScalarType.FLOAT,
            sizes=(size,),
            dim_order=(0,),
            data_buffer_idx=buffer,
            allocation_info=place,
        )
    )


def _call(*arguments: int) -> schema.Instruction:
    return schema.Instruction(schema.KernelCall(ADD, arguments))


def _plan(values, instructions, inputs=(0,), outputs=()):
    return schema.ExecutionPlan(
        name="forward",
        container_meta_type=schema.ContainerMetadata("", ""),
        values=tuple(values),
        inputs=inputs,
        outputs=outputs,
        chains=(schema.Chain((), (), tuple(instructions)),),
        operators=(schema.Operator("aten::add", "out"),),
        delegates=(),
        non_const_buffer_sizes=(0, 1024),
    )


def test_memory_used_again_after_its_last_reader_is_right() -> None:
    values = [_tensor(0), _tensor(16), _tensor(32), _tensor(16)]
    plan = _plan(values, [_call(0, 1, 1), _call(1, 2, 2), _call(2, 3, 3)], outputs=(3,))
    assert clobbered_values(plan) == []
    assert unwritten_values(plan) == []


def test_memory_used_again_before_its_last_reader_is_found() -> None:
    values = [_tensor(0), _tensor(16), _tensor(24), _tensor(64)]  # %2 covers the end of %1
    plan = _plan(values, [_call(0, 1, 1), _call(0, 2, 2), _call(1, 2, 3, 3)], outputs=(3,))
    (clobber,) = clobbered_values(plan)
    assert (clobber.step, clobber.name, clobber.written, clobber.lost) == (1, "aten::add.out", 2, 1)


def test_moved_values_name_the_memory_that_they_came_from() -> None:
    values = [_tensor(0), _tensor(16), _tensor(32), _tensor(16), _tensor(64)]
    move = schema.Instruction(schema.MoveCall(1, 2))
    plan = _plan(values, [_call(0, 1, 1), move, _call(0, 3, 3), _call(2, 3, 4, 4)], outputs=(4,))
    assert [(clobber.step, clobber.lost) for clobber in clobbered_values(plan)] == [(2, 2)]


def test_a_value_in_the_branch_not_taken_is_not_needed() -> None:
    values = [
        _tensor(0),
        _tensor(16),
        _tensor(16),
        _tensor(64),
        schema.EValue(schema.Bool(True)),
        schema.EValue(schema.Bool(False)),
    ]
    jump = schema.Instruction(schema.JumpFalseCall(4, 4))
    leave = schema.Instruction(schema.JumpFalseCall(5, 6))
    steps = [jump, _call(0, 1, 1), _call(1, 3, 3), leave, _call(0, 2, 2), _call(2, 3, 3)]
    assert clobbered_values(_plan(values, steps, outputs=(3,))) == []


def test_views_without_an_instruction_are_what_lies_there() -> None:
    values = [_tensor(0), _tensor(16), _tensor(16, 2), _tensor(64)]
    plan = _plan(values, [_call(0, 1, 1), _call(2, 3, 3)], outputs=(3,))
    assert unwritten_values(plan) == []
    assert clobbered_values(plan) == []


def test_state_without_a_first_value_is_found() -> None:
    for buffer, expected in ((0, [1]), (1, [])):
        values = [_tensor(0), _tensor(16, buffer=buffer), _tensor(32)]
        update = _call(1, 2, 1)  # in place
        plan = _plan(values, [_call(0, 1, 2, 2), update], outputs=(2,))
        assert unwritten_values(plan) == expected


def test_state_that_begins_as_an_external_tensor_has_a_first_value() -> None:
    outside = schema.ExtraTensorInfo(
        fully_qualified_name="state", location=TensorDataLocation.EXTERNAL
    )
    state = dataclasses.replace(_tensor(16).val, extra_tensor_info=outside)
    values = [_tensor(0), schema.EValue(state), _tensor(32)]
    plan = _plan(values, [_call(0, 1, 2, 2), _call(1, 2, 1)], outputs=(2,))
    assert unwritten_values(plan) == []


def test_our_control_flow_overwrites_nothing() -> None:
    def nested(flag: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        def inner(x: torch.Tensor) -> torch.Tensor:
            low = torch.cond(x.sum() > 1, lambda x: x * 2 + 1, lambda x: (x - 1) * 3, (x,))
            return low + x

        first = torch.cond(flag, inner, lambda x: x.relu() - 1, (x,))
        second = torch.cond(flag, lambda x: (x + 1) * 2, inner, (x,))
        return first * second

    def loop(count: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch._higher_order_ops.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, (x * 2 + 1).relu()), (count, x)
        )

    for function, first in ((nested, torch.tensor(True)), (loop, torch.tensor(0))):
        program = read_program(lower(Function(function), first, seeded(3)).buffer).program
        (plan,) = program.execution_plan or ()
        assert unwritten_values(plan) == []
        assert clobbered_values(plan) == []
