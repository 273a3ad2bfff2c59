"""Faults in the bytes of programs: wrong scales, swapped weights, shifted zero points, lost tails.

Every function takes a program file's bytes and gives other bytes; nothing of etlab is told of it. A
kernel that drops its tail is, inside of a delegate, two nodes behind the node (a slice, and a
padding with zeros), and outside an operator of another name, whose kernel
`fault_instructions.py` registers.
"""

import dataclasses
import functools
import struct
from collections.abc import Callable, Mapping
from typing import Any

from fault_instructions import FACTOR, KINDS, Fault, faults_outside, write_file

from etlab.backends.xnnpack.payload import schema as payload
from etlab.backends.xnnpack.payload.file import Payload, read_payload, write_payload
from etlab.backends.xnnpack.payload.inside import PayloadInside, node_values, with_tensor
from etlab.backends.xnnpack.payload.nodes import NODES
from etlab.backends.xnnpack.payload.schema import NO_VALUE, Datatype
from etlab.exir.emit import schema
from etlab.exir.emit.enums import DataLocation
from etlab.exir.emit.file import read_program
from etlab.numerics.parts import ProgramParts
from etlab.numerics.places import Place

# These copy integers as they are, whatever scale their result has.
_MOVES = ("StaticReshape", "StaticTranspose", "StaticSlice", "StaticConstantPad", "Copy")


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
            found += faults_outside(parts, place)
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
            ("wrong scale", dataclasses.replace(quant, scale=quant.scale * FACTOR)),
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
    return write_file(program, content.segments)


def _with_scaled_floats(data: bytes, key: str) -> bytes:
    """The float32 constants under a name, each larger by the factor."""
    content = read_program(data)
    segments = list(content.segments)
    for entry in content.program.named_data or ():
        if entry.key == key:
            held = bytes(segments[entry.segment_index])
            numbers = struct.unpack(f"<{len(held) // 4}f", held)
            scaled = struct.pack(f"<{len(numbers)}f", *(one * FACTOR for one in numbers))
            segments[entry.segment_index] = memoryview(scaled)
    return write_file(content.program, segments)


__all__ = ["KINDS", "Fault", "faults_of"]
