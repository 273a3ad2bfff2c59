"""The constants in a program file: their bytes, what describes them, and who reads them."""

from dataclasses import dataclass

from etlab.exir.emit.file import ProgramData, read_program
from etlab.exir.emit.input_bounds import KEY

_WIDTHS = {
    "byte": 1, "char": 1, "bool": 1, "short": 2, "half": 2, "bfloat16": 2, "uint16": 2,
    "int": 4, "float": 4, "uint32": 4, "long": 8, "double": 8, "uint64": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ConstantPiece:
    """One constant of the constants' segment.

    Attributes:
        index: as values of the program name it.
        dtype: its element type; empty when no value describes it.
        shape: its sizes, likewise.
        content: its bytes, without padding where the size is known.
    """

    index: int
    dtype: str
    shape: tuple[int, ...]
    content: memoryview


def constant_pieces(file: ProgramData) -> list[ConstantPiece]:
    """The constants that lie in a segment, in order."""
    table = file.program.constant_segment
    if table is None or not table.offsets or table.segment_index >= len(file.segments):
        return []
    segment = file.segments[table.segment_index]
    descriptions = _descriptions(file)
    offsets = [*table.offsets, len(segment)]
    pieces = []
    for index in range(1, len(offsets) - 1):
        dtype, shape, nbytes = descriptions.get(index, ("", (), None))
        extent = max(offsets[index + 1] - offsets[index], 0)
        size = extent if nbytes is None else max(min(nbytes, len(segment) - offsets[index]), 0)
        content = segment[offsets[index] : offsets[index] + size]
        pieces.append(ConstantPiece(index, dtype, shape, content))
    return pieces


def readers_of_constants(file: ProgramData) -> dict[int, set[str]]:
    """The operators that read each constant, or the backend of a delegate that does."""
    from etlab.exir.emit.dump import operator_name
    from etlab.exir.emit.schema import DelegateCall, KernelCall, Tensor

    found: dict[int, set[str]] = {}
    for plan in file.program.execution_plan or ():
        values = plan.values or ()
        delegates = plan.delegates or ()
        for instruction in (i for chain in plan.chains or () for i in chain.instructions or ()):
            call = instruction.instr_args
            if isinstance(call, KernelCall):
                name = operator_name(plan, call.op_index)
            elif isinstance(call, DelegateCall) and call.delegate_index < len(delegates):
                name = delegates[call.delegate_index].id or ""
            else:
                continue
            for argument in call.args or ():
                value = values[argument].val if 0 <= argument < len(values) else None
                if isinstance(value, Tensor) and value.allocation_info is None:
                    found.setdefault(value.data_buffer_idx, set()).add(name)
    return found


def without_constants(data: bytes) -> bytes:
    """The same file with zeros for constants; delegates keep their bytes."""
    copy = bytearray(data)
    file = read_program(copy)
    program = file.program
    blank = {named.segment_index for named in program.named_data or () if named.key != KEY}
    if program.constant_segment is not None and program.constant_segment.offsets:
        blank.add(program.constant_segment.segment_index)
    for index in blank:
        if index < len(file.segments):
            file.segments[index][:] = bytes(len(file.segments[index]))
    for segment in file.segments:
        segment.release()
    return bytes(copy)


def _descriptions(file: ProgramData) -> dict[int, tuple[str, tuple[int, ...], int]]:
    """Dtype, shape and bytes of every constant, by its index."""
    from etlab.exir.emit.schema import Tensor

    found: dict[int, tuple[str, tuple[int, ...], int]] = {}
    for plan in file.program.execution_plan or ():
        for value in plan.values or ():
            tensor = value.val
            if not isinstance(tensor, Tensor) or not tensor.data_buffer_idx:
                continue
            if tensor.allocation_info is not None:
                continue
            kind = tensor.scalar_type.name.lower()
            shape = tuple(tensor.sizes or ())
            width = _WIDTHS.get(kind)
            if width is None:
                continue
            count = 1
            for size in shape:
                count *= size
            found[tensor.data_buffer_idx] = (kind, shape, count * width)
    return found
