"""A program as text: stable, line by line, made to be read in reviews."""

from collections.abc import Sequence

from etlab.exir.emit import schema
from etlab.exir.emit.enums import TensorShapeDynamism

_DTYPE_NAMES = {"FLOAT": "f32", "DOUBLE": "f64", "HALF": "f16", "BFLOAT16": "bf16", "BOOL": "bool"}
_DTYPE_NAMES |= {"BYTE": "u8", "CHAR": "i8", "SHORT": "i16", "INT": "i32", "LONG": "i64"}


def dump_program(program: schema.Program, *, verbose: bool = False) -> str:
    """The text of a program.

    Args:
        program: what to print.
        verbose: print stack traces and tree specs too.
    """
    lines = [f"program version {program.version}"]
    for index, segment in enumerate(program.segments or ()):
        lines.append(f"segment {index}: {segment.size} bytes at {segment.offset}")
    if program.constant_segment and len(program.constant_segment.offsets or ()) > 1:
        count = len(program.constant_segment.offsets or ()) - 1
        lines.append(f"constants: {count} in segment {program.constant_segment.segment_index}")
    for mutable in program.mutable_data_segments or ():
        count = len(mutable.offsets or ()) - 1
        lines.append(f"initial state: {count} in segment {mutable.segment_index}")
    for named in program.named_data or ():
        lines.append(f"named data {named.key!r}: segment {named.segment_index}")
    for plan in program.execution_plan or ():
        lines += ["", *_dump_plan(plan, verbose=verbose)]
    return "\n".join(lines)


def _dump_plan(plan: schema.ExecutionPlan, *, verbose: bool) -> list[str]:
    arenas = ", ".join(str(size) for size in (plan.non_const_buffer_sizes or ())[1:])
    lines = [f"method {plan.name}", f"  arenas: {arenas or 'none'}"]
    if verbose and plan.container_meta_type:
        lines.append(f"  input tree: {plan.container_meta_type.encoded_inp_str}")
        lines.append(f"  output tree: {plan.container_meta_type.encoded_out_str}")
    lines.append(f"  inputs: {_list(plan.inputs)}")
    lines.append(f"  outputs: {_list(plan.outputs)}")
    for index, delegate in enumerate(plan.delegates or ()):
        lines.append(f"  delegate {index}: {delegate.id} {_delegate_data(delegate)}")
    for index, entry in enumerate(plan.values or ()):
        lines.append(f"  %{index} = {describe_value(entry.val)}")
    for chain in plan.chains or ():
        for step, instruction in enumerate(chain.instructions or ()):
            lines.append(f"  [{step}] {describe_instruction(instruction, plan)}")
            if verbose and chain.stacktrace and step < len(chain.stacktrace):
                lines += [
                    f"        {frame.filename}:{frame.lineno} {frame.context or ''}".rstrip()
                    for frame in chain.stacktrace[step].items or ()
                ]
    return lines


def _delegate_data(delegate: schema.BackendDelegate) -> str:
    keys = ", ".join(spec.key or "" for spec in delegate.compile_specs or ())
    place = ""
    if delegate.processed is not None:
        place = f"{delegate.processed.location.name.lower()} {delegate.processed.index}"
    return f"{place} specs ({keys})"


def describe_value(value: schema.KernelTypes | None) -> str:
    """One value as text: `f32[2, 3] @1+64`, `int 3`, `ints [%1, %2]`."""
    match value:
        case schema.Tensor():
            return _describe_tensor(value)
        case schema.Int():
            return f"int {value.int_val}"
        case schema.Bool():
            return f"bool {str(value.bool_val).lower()}"
        case schema.Double():
            return f"double {value.double_val!r}"
        case schema.String():
            return f"string {value.string_val!r}"
        case schema.IntList():
            return f"ints {_list(value.items)}"
        case schema.DoubleList():
            return f"doubles {list(value.items or ())}"
        case schema.BoolList():
            return f"bools {list(value.items or ())}"
        case schema.TensorList() | schema.OptionalTensorList():
            return f"tensors {_list(value.items)}"
        case _:
            return "none"


def _describe_tensor(tensor: schema.Tensor) -> str:
    name = _DTYPE_NAMES.get(tensor.scalar_type.name, tensor.scalar_type.name.lower())
    bound = "" if tensor.shape_dynamism is TensorShapeDynamism.STATIC else "<="
    text = f"{name}[{', '.join(f'{bound}{size}' for size in tensor.sizes or ())}]"
    order = list(tensor.dim_order or ())
    if order != sorted(order):
        text += f" order {order}"
    if tensor.data_buffer_idx:
        text += (
            f" {'initially' if tensor.allocation_info else 'constant'} #{tensor.data_buffer_idx}"
        )
    if tensor.allocation_info:
        text += f" @{tensor.allocation_info.memory_id}+{tensor.allocation_info.memory_offset}"
    if tensor.extra_tensor_info and tensor.extra_tensor_info.fully_qualified_name:
        text += f" {tensor.extra_tensor_info.fully_qualified_name!r}"
    return text


def describe_instruction(instruction: schema.Instruction, plan: schema.ExecutionPlan) -> str:
    """One instruction as text: `aten::add.out(%0, %1, %2, %3, %3)`."""
    match instruction.instr_args:
        case schema.KernelCall(op_index, args):
            return f"{operator_name(plan, op_index)}({_places(args)})"
        case schema.DelegateCall(delegate_index, args):
            return f"delegate {delegate_index}({_places(args)})"
        case schema.MoveCall(source, target):
            return f"%{target} = move %{source}"
        case schema.JumpFalseCall(condition, destination):
            return f"unless %{condition} go to [{destination}]"
        case schema.FreeCall(index):
            return f"free %{index}"
        case _:
            return "nothing"


def operator_name(plan: schema.ExecutionPlan, index: int) -> str:
    """The full name of an operator of a plan."""
    operators = plan.operators or ()
    if not 0 <= index < len(operators):
        return f"operator {index}?"
    operator = operators[index]
    return f"{operator.name}.{operator.overload}" if operator.overload else f"{operator.name}"


def _places(indices: Sequence[int] | None) -> str:
    return ", ".join(f"%{index}" if index >= 0 else "none" for index in indices or ())


def _list(indices: Sequence[int] | None) -> str:
    return f"[{_places(indices)}]"
