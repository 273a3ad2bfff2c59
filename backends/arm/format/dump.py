"""A TOSA graph as text: stable, line by line, made to be read in reviews."""

from dataclasses import fields
from typing import Any

from etlab.backends.arm.format.file import read_graph
from etlab.backends.arm.format.operators import DType, name_of
from etlab.backends.arm.format.schema import Block, Graph, Operator, TensorEntry

_CONSTANTS = ("CONST", "CONST_SHAPE")
_NUMBERS_IN_FULL = 8


def dump_graph(graph: bytes | bytearray | memoryview | Graph) -> str:
    """The text of a graph.

    Args:
        graph: its bytes, or itself.

    Raises:
        InvalidProgramError: the bytes are no TOSA graph.
    """
    if not isinstance(graph, Graph):
        graph = read_graph(graph)
    version = graph.version
    lines = [f"tosa {version.major}.{version.minor}.{version.patch}"]
    for region in graph.regions or ():
        for block in region.blocks or ():
            lines += _describe_block(block)
    return "\n".join(lines)


def _describe_block(block: Block) -> list[str]:
    tensors = {tensor.name: tensor for tensor in block.tensors or ()}
    shapes = {shape.name: shape for shape in block.shapes or ()}
    lines = [f"block {block.name}"]
    lines += [f"input {_describe_tensor(name, tensors)}" for name in block.inputs or ()]
    for operator in block.operators or ():
        for name in operator.outputs or ():
            if name in shapes:
                numbers = memoryview(shapes[name].data or b"")
                whole = numbers[: len(numbers) // 8 * 8].cast("q").tolist()
                lines.append(f"%{name} = sizes {whole}")
            else:
                described = _describe_tensor(name, tensors)
                lines.append(f"{described} = {_describe_call(operator, tensors)}")
    lines.append("output " + ", ".join(f"%{name}" for name in block.outputs or ()))
    return lines


def _describe_tensor(name: str, tensors: dict[str | None, TensorEntry]) -> str:
    tensor = tensors.get(name)
    if tensor is None:
        return f"%{name}"
    sizes = ", ".join(str(size) for size in tensor.shape or ())
    return f"%{name}: {tensor.type.name.lower()}[{sizes}]"


def _describe_call(operator: Operator, tensors: dict[str | None, TensorEntry]) -> str:
    kind = name_of(operator.attribute) if operator.attribute is not None else f"op {operator.op}"
    if kind in _CONSTANTS:
        tensor = tensors[(operator.outputs or ("",))[0]]
        return f"constant{_numbers(tensor)} {len(tensor.data or b'')} bytes"
    text = f"{kind}({', '.join(f'%{name}' for name in operator.inputs or ())})"
    attributes: Any = operator.attribute
    for field in fields(attributes) if attributes is not None else ():
        value = getattr(attributes, field.name)
        if value and field.name not in ("acc_type", "nan_mode"):
            text += f" {field.name}={_attribute(value)}"
    return text


def _attribute(value: Any) -> str:
    if isinstance(value, bytes):
        return str(int.from_bytes(value, "little", signed=True))
    if isinstance(value, tuple):
        return str(list(value))
    return str(getattr(value, "name", value)).lower()


def _numbers(tensor: TensorEntry) -> str:
    """The numbers of a small constant."""
    size = {DType.INT8: 1, DType.INT16: 2, DType.INT32: 4}.get(tensor.type)
    data = tensor.data or b""
    if size is None or len(data) > _NUMBERS_IN_FULL:
        return ""
    places = range(0, len(data) - size + 1, size)
    return f" {[int.from_bytes(data[at : at + size], 'little', signed=True) for at in places]}"
