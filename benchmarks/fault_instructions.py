"""Faults of instructions: numbers of quantizations, constants swapped, kernels that drop tails."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from etlab.exir.emit import schema
from etlab.exir.emit.dump import operator_name
from etlab.exir.emit.file import Segment, assemble, read_program
from etlab.numerics.parts import ProgramParts
from etlab.numerics.places import Place
from etlab.runtime import register_kernel

KINDS = ("wrong scale", "swapped weights", "shifted zero point", "dropped tail")
FACTOR = 1.25
_TAIL = "faulty"


@dataclass(frozen=True)
class Fault:
    """A fault that can be planted.

    Attributes:
        kind: one of `KINDS`.
        place: the tensor that comes out wrong, the first one where several do.
        plant: from the program's bytes to those with the fault.
    """

    kind: str
    place: Place
    plant: Callable[[bytes], bytes]


def faults_outside(parts: ProgramParts, place: Place) -> list[Fault]:
    step = parts.steps[place.step]
    faults = []
    if step.delegate is None and _functional(step.name) is not None:
        faults.append(
            Fault("dropped tail", place, lambda data: _with_faulty_kernel(data, place.step))
        )
    constants = [value for value in step.reads if parts.is_constant(value)]
    tensors = [parts.tensor(value) for value in constants]
    big = [
        value
        for value, tensor in zip(constants, tensors, strict=True)
        if tensor is not None and len(tensor.sizes or ()) >= 2
    ]
    if big and step.delegate is None:
        other = _constant_like(parts, place.step, big[0])
        if other is not None:
            faults.append(
                Fault(
                    "swapped weights",
                    place,
                    lambda data: _with_swapped_constants(data, big[0], other),
                )
            )
    if step.name.startswith("quantized_decomposed::quantize_per_tensor."):
        for kind, argument in (("wrong scale", 1), ("shifted zero point", 2)):
            faults.append(
                Fault(
                    kind,
                    place,
                    lambda data, argument=argument: _with_other_number(data, place.step, argument),
                )
            )
    return faults


def _constant_like(parts: ProgramParts, step: int, value: int) -> int | None:
    """A constant of the same sizes that a later step reads, and no earlier one."""
    tensor = parts.tensor(value)
    assert tensor is not None
    earlier = {read for one in parts.steps[: step + 1] for read in one.reads}
    for one in parts.steps[step + 1 :]:
        for read in one.reads:
            other = parts.tensor(read)
            if other is None or read in earlier or not parts.is_constant(read):
                continue
            same = other.sizes == tensor.sizes and other.scalar_type == tensor.scalar_type
            if same and other.data_buffer_idx != tensor.data_buffer_idx:
                return read
    return None


def _with_swapped_constants(data: bytes, first: int, second: int) -> bytes:
    def change(plan: schema.ExecutionPlan) -> schema.ExecutionPlan:
        values = list(plan.values or ())
        one, other = (values[index].val for index in (first, second))
        assert isinstance(one, schema.Tensor)
        assert isinstance(other, schema.Tensor)
        for index, tensor, source in ((first, one, other), (second, other, one)):
            held = dataclasses.replace(tensor, data_buffer_idx=source.data_buffer_idx)
            values[index] = schema.EValue(held)
        return dataclasses.replace(plan, values=tuple(values))

    return _with_plan(data, change)


def _with_other_number(data: bytes, step: int, argument: int) -> bytes:
    """A scale larger by the factor, or a zero point larger by one, of one instruction only."""

    def change(plan: schema.ExecutionPlan) -> schema.ExecutionPlan:
        values = list(plan.values or ())
        instructions = list((plan.chains or ())[0].instructions or ())
        call = instructions[step].instr_args
        assert isinstance(call, schema.KernelCall)
        arguments = list(call.args or ())
        held = values[arguments[argument]].val
        if isinstance(held, schema.Double):
            values.append(schema.EValue(schema.Double(held.double_val * FACTOR)))
        else:
            assert isinstance(held, schema.Int)
            shift = 1 if held.int_val < 127 else -1
            values.append(schema.EValue(schema.Int(held.int_val + shift)))
        arguments[argument] = len(values) - 1
        instructions[step] = schema.Instruction(dataclasses.replace(call, args=tuple(arguments)))
        chain = dataclasses.replace((plan.chains or ())[0], instructions=tuple(instructions))
        return dataclasses.replace(plan, values=tuple(values), chains=(chain,))

    return _with_plan(data, change)


def _with_faulty_kernel(data: bytes, step: int) -> bytes:
    """The instruction calls an operator of another name, whose kernel forgets its last elements."""
    name = ProgramParts(read_program(data)).steps[step].name
    function = _functional(name)
    assert function is not None
    namespace, _, rest = name.partition("::")
    faulty = f"{_TAIL}_{namespace}::{rest}"

    def kernel(*arguments: Any) -> Any:
        result = function(*arguments)
        flat = result.clone().reshape(-1)
        flat[len(flat) - max(1, len(flat) // 4) :] = 0
        return flat.reshape(result.shape)

    register_kernel(faulty, kernel)

    def change(plan: schema.ExecutionPlan) -> schema.ExecutionPlan:
        instructions = list((plan.chains or ())[0].instructions or ())
        call = instructions[step].instr_args
        assert isinstance(call, schema.KernelCall)
        assert operator_name(plan, call.op_index) == name
        operators = list(plan.operators or ())
        own, _, overload = faulty.partition(".")
        operators.append(schema.Operator(own, overload))
        call = dataclasses.replace(call, op_index=len(operators) - 1)
        instructions[step] = schema.Instruction(call)
        chain = dataclasses.replace((plan.chains or ())[0], instructions=tuple(instructions))
        return dataclasses.replace(plan, chains=(chain,), operators=tuple(operators))

    return _with_plan(data, change)


_PLAIN = {
    "aten::add.out", "aten::addmm.out", "aten::bmm.out", "aten::convolution.out", "aten::gelu.out",
    "aten::hardtanh.out", "aten::linear.out", "aten::mean.out", "aten::mul.out", "aten::relu.out",
    "aten::embedding.out", "aten::_softmax.out",
}  # fmt: skip


def _functional(name: str) -> Callable[..., Any] | None:
    """What computes an operator in PyTorch; None for those that this module leaves alone."""
    if name not in _PLAIN:
        return None
    packet: Any = getattr(torch.ops.aten, name.partition("::")[2].partition(".")[0])
    if name == "aten::mean.out":
        return lambda x, dims, keep, _: torch.mean(x, dims, keepdim=keep)
    if name in ("aten::add.out",):
        return lambda x, y, alpha=1: torch.add(x, y, alpha=alpha)
    if name == "aten::gelu.out":
        return lambda x, approximate="none": torch.nn.functional.gelu(x, approximate=approximate)
    result: Callable[..., Any] = packet
    return result


def _with_plan(
    data: bytes, change: Callable[[schema.ExecutionPlan], schema.ExecutionPlan]
) -> bytes:
    content = read_program(data)
    plan, *others = content.program.execution_plan or ()
    program = dataclasses.replace(content.program, execution_plan=(change(plan), *others))
    return write_file(program, content.segments)


def write_file(program: schema.Program, segments: Any) -> bytes:
    """A program's bytes."""
    pieces = [Segment(len(piece), [(0, piece)]) for piece in segments]
    return assemble(program, pieces)[0].to_bytes()
