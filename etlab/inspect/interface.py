"""What a method takes, returns, keeps and calls, read from its file."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from torch.utils import _pytree as pytree

from etlab.errors import EtlabError
from etlab.exir import official_operators
from etlab.exir.emit import schema
from etlab.exir.emit.dump import operator_name
from etlab.exir.emit.enums import DataLocation, TensorShapeDynamism
from etlab.exir.emit.file import ProgramData
from etlab.exir.emit.scalar_type import DTYPES, ITEM_SIZES
from etlab.exir.ops import is_custom_namespace
from etlab.inspect.table import Table


@dataclass(frozen=True, slots=True)
class ValueRow:
    """One flat input or output.

    Attributes:
        place: among the flat values.
        name: where it stands in the nested arguments or results; empty when the file has no names.
        kind: "Tensor", "int", "float", "bool", "str" or "None".
        dtype: of a tensor.
        shape: of a tensor; the largest sizes where they can change.
        bounds: sizes that can change, per dimension; "as exported" for a number.
        nbytes: of a tensor at its largest.
    """

    place: int
    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...] | None
    bounds: str
    nbytes: int


@dataclass(frozen=True, slots=True)
class StateRow:
    """One mutable tensor that lives from call to call.

    Attributes:
        value: its place in the method's values.
        name: of the buffer; empty when the file does not name it.
        dtype: its element type.
        shape: its sizes.
        nbytes: of its elements.
        has_first_value: whether the file holds its first value; else it begins as zeros.
    """

    value: int
    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    has_first_value: bool


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One operator that a method calls.

    Attributes:
        operator: with overload, "aten::add.out".
        calls: how many instructions call it.
        library: "official", "extended" (only etlab has it) or "custom" (a user's own).
        has_kernel: whether this process can run it.
    """

    operator: str
    calls: int
    library: str
    has_kernel: bool


@dataclass(frozen=True, slots=True)
class BackendRow:
    """One delegated subgraph.

    Attributes:
        backend: who runs it.
        calls: how many instructions call it.
        nbytes: of what the compiler stored for it.
        compile_specs: names of its options.
        is_available: whether this process has the backend.
    """

    backend: str
    calls: int
    nbytes: int
    compile_specs: str
    is_available: bool


def value_table(plan: schema.ExecutionPlan, what: str, bounds: Any) -> Table[ValueRow]:
    """The flat inputs or outputs of a method.

    Args:
        plan: of the method.
        what: "inputs" or "outputs".
        bounds: of its inputs, from `etlab.runtime.Program.input_bounds`.
    """
    indices = (plan.inputs if what == "inputs" else plan.outputs) or ()
    names = _names(plan, what, len(indices))
    known = {bound.input: bound for bound in bounds} if what == "inputs" else {}
    rows = []
    for place, index in enumerate(indices):
        value = _value(plan, index)
        name = names[place] or (known[place].name if place in known else "")
        if not isinstance(value, schema.Tensor):
            kind = _KINDS.get(type(value), "None")
            fixed = "as exported" if what == "inputs" else ""
            rows.append(ValueRow(place, name, kind, "", None, fixed, 0))
            continue
        text = _bounds_text(value, known.get(place))
        shape = tuple(value.sizes or ())
        rows.append(ValueRow(place, name, "Tensor", _dtype(value), shape, text, _nbytes(value)))
    return Table(ValueRow, rows, title=f"{what} of {plan.name}")


def state_table(plan: schema.ExecutionPlan, unwritten: list[int]) -> Table[StateRow]:
    """The mutable tensors of a method; `unwritten` are those without a first value."""
    rows = []
    for index, entry in enumerate(plan.values or ()):
        tensor = entry.val
        if not isinstance(tensor, schema.Tensor) or tensor.allocation_info is None:
            continue
        if not tensor.data_buffer_idx and index not in unwritten:
            continue
        extra = tensor.extra_tensor_info
        name = (extra.fully_qualified_name if extra else None) or ""
        shape, has_value = tuple(tensor.sizes or ()), bool(tensor.data_buffer_idx)
        rows.append(StateRow(index, name, _dtype(tensor), shape, _nbytes(tensor), has_value))
    return Table(StateRow, rows, title=f"state of {plan.name}")


def operator_table(plan: schema.ExecutionPlan, available: set[str]) -> Table[OperatorRow]:
    """The operators of a method, the commonest first.

    Args:
        plan: of the method.
        available: operators that this process has kernels for.
    """
    calls = [call for call in _calls(plan) if isinstance(call, schema.KernelCall)]
    counts = Counter(operator_name(plan, call.op_index) for call in calls)
    rows = [
        OperatorRow(name, count, _library(name), name in available)
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return Table(OperatorRow, rows, title=f"operators of {plan.name}")


def backend_table(
    plan: schema.ExecutionPlan, file: ProgramData, available: set[str]
) -> Table[BackendRow]:
    """The delegated subgraphs of a method, in the file's order."""
    calls = [call for call in _calls(plan) if isinstance(call, schema.DelegateCall)]
    counts = Counter(call.delegate_index for call in calls)
    rows = []
    for index, delegate in enumerate(plan.delegates or ()):
        specs = ", ".join(spec.key or "" for spec in delegate.compile_specs or ())
        size = _payload(file, delegate)
        name = delegate.id or ""
        rows.append(BackendRow(name, counts[index], size, specs, name in available))
    return Table(BackendRow, rows, title=f"delegates of {plan.name}")


_KINDS: dict[type, str] = {
    schema.Int: "int",
    schema.Double: "float",
    schema.Bool: "bool",
    schema.String: "str",
}


def _calls(plan: schema.ExecutionPlan) -> list[Any]:
    return [i.instr_args for chain in plan.chains or () for i in chain.instructions or ()]


def _value(plan: schema.ExecutionPlan, index: int) -> Any:
    values = plan.values or ()
    return values[index].val if 0 <= index < len(values) else None


def _dtype(tensor: schema.Tensor) -> str:
    dtype = DTYPES.get(tensor.scalar_type)
    return str(dtype).removeprefix("torch.") if dtype else tensor.scalar_type.name.lower()


def _nbytes(tensor: schema.Tensor) -> int:
    nbytes = ITEM_SIZES[tensor.scalar_type]
    for size in tensor.sizes or ():
        nbytes *= size
    return nbytes


def _bounds_text(tensor: schema.Tensor, bound: Any) -> str:
    if tensor.shape_dynamism is TensorShapeDynamism.STATIC:
        return ""
    if bound is not None:
        return ", ".join(str(one) for one in bound.dimensions if one.low < one.high)
    return "each up to its size"


def _library(name: str) -> str:
    if name in official_operators.ALL:
        return "official"
    return "custom" if is_custom_namespace(name.split("::")[0]) else "extended"


def _payload(file: ProgramData, delegate: schema.BackendDelegate) -> int:
    place = delegate.processed
    if place is None:
        return 0
    if place.location is DataLocation.SEGMENT:
        return file.segments[place.index].nbytes if place.index < len(file.segments) else 0
    inline = file.program.backend_delegate_data or ()
    return len(inline[place.index].data or b"") if place.index < len(inline) else 0


def _names(plan: schema.ExecutionPlan, what: str, count: int) -> list[str]:
    """Where each flat value stands, as Python writes it; empty when the file does not say."""
    from etlab.runtime.nesting import parse_nesting

    container = plan.container_meta_type
    text = ""
    if container is not None:
        encoded = container.encoded_inp_str if what == "inputs" else container.encoded_out_str
        text = encoded or ""
    try:
        spec = parse_nesting(text) if text else None
    except EtlabError:
        spec = None
    if spec is None or spec.num_leaves != count:
        return [""] * count
    paths = pytree.tree_flatten_with_path(pytree.tree_unflatten(list(range(count)), spec))[0]
    return [_path_text(path, what) for path, _ in paths]


def _path_text(path: Any, what: str) -> str:
    keys = list(path)
    if what == "outputs":
        return "".join(str(key) for key in keys)
    if len(keys) < 2:
        return ""
    group, first = keys[0].idx, keys[1]
    head = f"argument {first.idx}" if group == 0 else str(first.key)
    return head + "".join(str(key) for key in keys[2:])
