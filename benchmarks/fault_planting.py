"""Faults in the bytes of programs: wrong scales, swapped weights, shifted zero points, lost tails.

Every function takes a program file's bytes and gives other bytes; nothing of etlab is told of it. A
kernel that drops its tail is, inside of a delegate, two nodes behind the node (a slice, and a
padding with zeros), and outside an operator of another name, whose kernel this module registers.
"""

import dataclasses
import functools
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from etlab.backends.xnnpack.payload import schema as payload
from etlab.backends.xnnpack.payload.file import Payload, read_payload, write_payload
from etlab.backends.xnnpack.payload.inside import PayloadInside, node_values, with_tensor
from etlab.backends.xnnpack.payload.nodes import NODES
from etlab.backends.xnnpack.payload.schema import NO_VALUE, Datatype
from etlab.exir.emit import schema
from etlab.exir.emit.dump import operator_name
from etlab.exir.emit.enums import DataLocation
from etlab.exir.emit.file import Segment, assemble, read_program
from etlab.numerics.parts import Place, ProgramParts
from etlab.runtime import register_kernel

KINDS = ("wrong scale", "swapped weights", "shifted zero point", "dropped tail")
TAIL = "faulty"
_FACTOR = 1.25
# These copy integers as they are, whatever scale their result has.
_MOVES = ("StaticReshape", "StaticTranspose", "StaticSlice", "StaticConstantPad", "Copy")


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


def faults_of(data: bytes, places: Mapping[Place, str]) -> list[Fault]:
    """The faults that can be planted in a program, in a fixed order.

    Args:
        data: the program.
        places: tensors that are compared, and what for.
    """
    parts = ProgramParts(read_program(data))
    found: list[Fault] = []
    for place in sorted(places):
        step = parts.steps[place.step]
        if place.is_inside:
            assert step.delegate is not None
            inside = PayloadInside(read_payload(parts.delegate_bytes(step.delegate)))
            found += _faults_inside(inside, place, step.delegate, set(places))
        else:
            found += _faults_outside(parts, place)
    return found


def _faults_inside(
    inside: PayloadInside, place: Place, delegate: int, places: set[Place]
) -> list[Fault]:
    makers = {number: node for node in inside.nodes for number in node.outputs}
    index = makers[place.value].index
    node = (inside.payload.graph.xnodes or ())[index]
    faults = []

    def edit(change: Callable[[payload.Graph], payload.Graph]) -> Callable[[bytes], bytes]:
        return lambda data: _with_payload(data, delegate, change)

    value = _entry(inside.payload.graph, place.value)
    content = value.xvalue_union
    reads_other = all(number != place.value for number in node_values(node)[0])
    quant = getattr(content, "quant_params", None)
    moves = type(node.xnode_union).__name__ in _MOVES
    if isinstance(quant, payload.PerTensorQuant) and reads_other and not moves:
        zero = quant.zero_point + (1 if quant.zero_point < 127 else -1)
        for kind, wrong in (
            ("wrong scale", dataclasses.replace(quant, scale=quant.scale * _FACTOR)),
            ("shifted zero point", dataclasses.replace(quant, zero_point=zero)),
        ):
            change = functools.partial(_requantized, number=place.value, quant=wrong)
            faults.append(Fault(kind, place, edit(change)))
    weights = getattr(node.xnode_union, "filter_id", None)
    if weights is not None:
        other = _like(inside, index, weights, place, places)
        if other is not None:
            faults.append(
                Fault("swapped weights", place, edit(lambda g: _swapped(g, weights, other)))
            )
        scales = _scale_constant(inside.payload.graph, weights)
        if scales is not None:
            faults.append(
                Fault("wrong scale", place, lambda data: _with_scaled_floats(data, scales))
            )
    if inside.tensors[place.value].datatype in (Datatype.FP32, Datatype.QINT8):
        faults.append(
            Fault("dropped tail", place, edit(lambda g: _without_tail(g, index, place.value)))
        )
    return faults


def _faults_outside(parts: ProgramParts, place: Place) -> list[Fault]:
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


def _entry(graph: payload.Graph, number: int) -> payload.Value:
    for value in graph.xvalues or ():
        tensor = payload.tensor_of(value)
        if tensor is not None and tensor.id_out == number:
            return value
    raise KeyError(number)


def _with_entry(
    graph: payload.Graph, number: int, change: Callable[[payload.Value], payload.Value]
) -> payload.Graph:
    values = []
    for value in graph.xvalues or ():
        tensor = payload.tensor_of(value)
        is_it = tensor is not None and tensor.id_out == number
        values.append(change(value) if is_it else value)
    return dataclasses.replace(graph, xvalues=tuple(values))


def _requantized(graph: payload.Graph, number: int, quant: Any) -> payload.Graph:
    def change(value: payload.Value) -> payload.Value:
        content: Any = value.xvalue_union
        return payload.Value(dataclasses.replace(content, quant_params=quant))

    return _with_entry(graph, number, change)


def _like(
    inside: PayloadInside, index: int, weights: int, place: Place, places: set[Place]
) -> int | None:
    """The weights of a later node of the same sizes, whose result is compared, too."""
    sizes = inside.tensors[weights].dims
    kind = inside.tensors[weights].datatype
    for node in (inside.payload.graph.xnodes or ())[index + 1 :]:
        other = getattr(node.xnode_union, "filter_id", None)
        if other is None or other == weights:
            continue
        _, writes = node_values(node)
        tensor = inside.tensors[other]
        is_compared = Place(place.step, writes[0], is_inside=True) in places
        same = tensor.constant_buffer_idx == inside.tensors[weights].constant_buffer_idx
        if tensor.dims == sizes and tensor.datatype == kind and is_compared and not same:
            return int(other)
    return None


def _swapped(graph: payload.Graph, first: int, second: int) -> payload.Graph:
    indices = {}
    for number in (first, second):
        tensor = payload.tensor_of(_entry(graph, number))
        assert tensor is not None
        indices[number] = tensor.constant_buffer_idx
    for number, other in ((first, second), (second, first)):

        def change(value: payload.Value, other: int = other) -> payload.Value:
            tensor = payload.tensor_of(value)
            assert tensor is not None
            return with_tensor(
                value, dataclasses.replace(tensor, constant_buffer_idx=indices[other])
            )

        graph = _with_entry(graph, number, change)
    return graph


def _scale_constant(graph: payload.Graph, weights: int) -> str | None:
    """The name of the constant that holds the scales of some weights."""
    content = _entry(graph, weights).xvalue_union
    quant = getattr(content, "quant_params", None)
    index = getattr(quant, "scale_buffer_idx", 0)
    table = graph.constant_data or ()
    return table[index].named_key if 0 < index < len(table) else None


def _without_tail(graph: payload.Graph, index: int, number: int) -> payload.Graph:
    """A slice and a padding behind a node: the last quarter of its last dimension becomes 0."""
    entry = _entry(graph, number)
    tensor = payload.tensor_of(entry)
    assert tensor is not None
    sizes = list(tensor.dims or ())
    cut = max(1, sizes[-1] // 4)
    shorter = (*sizes[:-1], sizes[-1] - cut)
    fresh = 1 + max(t.id_out for v in graph.xvalues or () if (t := payload.tensor_of(v)))
    added = [
        with_tensor(
            entry,
            dataclasses.replace(
                tensor, id_out=fresh + place, dims=dims, external_id=NO_VALUE, flags=0
            ),
        )
        for place, dims in enumerate((tuple(sizes), shorter))
    ]
    nodes = list(graph.xnodes or ())
    node = nodes[index]
    content = dataclasses.replace(node.xnode_union, output_id=fresh)
    nodes[index] = dataclasses.replace(node, xnode_union=content)
    zeros, rank = (0,) * len(sizes), len(sizes)
    slice_ = NODES["StaticSlice"](
        num_dims=rank, offsets=zeros, sizes=shorter, input_id=fresh, output_id=fresh + 1
    )
    pad = NODES["StaticConstantPad"](
        pre_paddings=zeros,
        post_paddings=(*zeros[:-1], cut),
        padding_value=0.0,
        input_id=fresh + 1,
        output_id=number,
    )
    nodes[index + 1 : index + 1] = [payload.Node(slice_), payload.Node(pad)]
    return dataclasses.replace(graph, xnodes=tuple(nodes), xvalues=(*(graph.xvalues or ()), *added))


def _with_payload(
    data: bytes, delegate: int, change: Callable[[payload.Graph], payload.Graph]
) -> bytes:
    content = read_program(data)
    held = read_payload(ProgramParts(content).delegate_bytes(delegate))
    changed = write_payload(change(held.graph), Payload(held.graph, held.constants).constants)
    plan, *others = content.program.execution_plan or ()
    inline = list(content.program.backend_delegate_data or ())
    delegates = list(plan.delegates or ())
    place = schema.BackendDelegateDataReference(DataLocation.INLINE, len(inline))
    delegates[delegate] = dataclasses.replace(delegates[delegate], processed=place)
    inline.append(schema.BackendDelegateInlineData(changed))
    plan = dataclasses.replace(plan, delegates=tuple(delegates))
    program = dataclasses.replace(
        content.program, execution_plan=(plan, *others), backend_delegate_data=tuple(inline)
    )
    return _file(program, content.segments)


def _with_scaled_floats(data: bytes, key: str) -> bytes:
    """The float32 constants under a name, each larger by the factor."""
    content = read_program(data)
    segments = list(content.segments)
    for entry in content.program.named_data or ():
        if entry.key == key:
            held = bytes(segments[entry.segment_index])
            numbers = struct.unpack(f"<{len(held) // 4}f", held)
            scaled = struct.pack(f"<{len(numbers)}f", *(one * _FACTOR for one in numbers))
            segments[entry.segment_index] = memoryview(scaled)
    return _file(content.program, segments)


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
            values.append(schema.EValue(schema.Double(held.double_val * _FACTOR)))
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
    faulty = f"{TAIL}_{namespace}::{rest}"

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
    return _file(program, content.segments)


def _file(program: schema.Program, segments: Any) -> bytes:
    pieces = [Segment(len(piece), [(0, piece)]) for piece in segments]
    return assemble(program, pieces)[0].to_bytes()
