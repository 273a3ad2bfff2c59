"""TOSA graphs as bytes, checked in full when they are read."""

from etlab.backends.arm.format.operators import NUMBERS
from etlab.backends.arm.format.schema import Block, Graph
from etlab.errors import InvalidProgramError
from etlab.exir.emit.flatbuffer import write_flatbuffer
from etlab.exir.emit.reader import read_flatbuffer

IDENTIFIER = b"TOSA"


def write_graph(graph: Graph) -> bytes:
    """The bytes of a graph."""
    return bytes(write_flatbuffer(graph, identifier=IDENTIFIER, minimum_alignment=8))


def read_graph(data: bytes | bytearray | memoryview) -> Graph:
    """Read a graph.

    Raises:
        InvalidProgramError: it is no TOSA graph, or damaged: a name that nothing has, two values of
            one name, an operator whose attributes are another's.
    """
    view = memoryview(data).cast("B")
    if bytes(view[4:8]) != IDENTIFIER:
        raise InvalidProgramError(
            f"a TOSA graph has the identifier TOSA, this one {bytes(view[4:8])!r}; it was made for"
            " another backend, or is damaged"
        )
    graph: Graph = read_flatbuffer(view, Graph, identifier=IDENTIFIER)
    if graph.version is None or not graph.regions or not graph.regions[0].blocks:
        raise InvalidProgramError("the TOSA graph has no version or no operators; it is damaged")
    for region in graph.regions:
        for block in region.blocks or ():
            _check(block)
    return graph


def _check(block: Block) -> None:
    tensors, shapes = block.tensors or (), block.shapes or ()
    names = {tensor.name for tensor in tensors} | {shape.name for shape in shapes}
    if len(names) < len(tensors) + len(shapes):
        raise InvalidProgramError("the TOSA graph has two values of one name; it is damaged")
    used = [*(block.inputs or ()), *(block.outputs or ())]
    for operator in block.operators or ():
        used += [*(operator.inputs or ()), *(operator.outputs or ())]
        number = NUMBERS.get(type(operator.attribute), operator.op)
        if operator.op != number:
            raise InvalidProgramError(
                f"operator {operator.op} of the TOSA graph has the attributes of {number}; it is"
                " damaged"
            )
    for name in used:
        if name not in names:
            raise InvalidProgramError(f"the TOSA graph names '{name}', which it lacks; damaged")
