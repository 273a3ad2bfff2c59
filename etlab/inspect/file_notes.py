"""What a program file is known to do otherwise than the model it was made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from etlab.errors import EtlabError
from etlab.exir.emit import schema
from etlab.exir.emit.dump import describe_value, operator_name
from etlab.exir.emit.enums import TensorShapeDynamism
from etlab.exir.emit.scalar_type import DTYPES
from etlab.exir.memory.dataflow import clobbered_values, unwritten_values
from etlab.inspect.table import Table

_INTEGERS = frozenset({torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64})
_FLOATS = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})

# Kernels of the official runtime (executorch 1.5.1) that silently differ from eager: operators, the
# element types of their first tensor, and what they do. Ours are right.
_OFFICIAL_KERNELS: tuple[tuple[tuple[str, ...], frozenset[torch.dtype], str], ...] = (
    (
        ("aten::remainder.Tensor_out", "aten::remainder.Scalar_out"),
        _INTEGERS,
        "integer remainder takes the sign of the dividend: -7 % 3 gives -1, eager 2",
    ),
    (
        ("aten::native_layer_norm.out", "aten::native_group_norm.out"),
        _FLOATS,
        "one-pass variance: wrong by 7e-3 at an offset of 100, NaN at 1e4",
    ),
    (
        ("aten::mean.out", "aten::mean.dtype_out"),
        _FLOATS,
        "one accumulator for all elements: the mean of 1e5 values near 1000 is off by 0.4",
    ),
    (("aten::max_pool2d_with_indices.out",), _FLOATS, "NaN is dropped; eager passes it on"),
)


@dataclass(frozen=True, slots=True)
class FileNote:
    """One known difference.

    Attributes:
        method: where it is.
        where: "file" when every runtime shows it, "official runtime" when only that one does.
        subject: the value or operator.
        text: what differs, and the way out.
    """

    method: str
    where: str
    subject: str
    text: str


def file_notes(plans: Sequence[schema.ExecutionPlan], bounded: set[str]) -> Table[FileNote]:
    """The known differences of a file's methods from eager.

    Args:
        plans: of the methods.
        bounded: methods for which the file holds lower bounds too.
    """
    notes: list[FileNote] = []
    for plan in plans:
        notes += _state_notes(plan)
        notes += _clobber_notes(plan)
        notes += _interface_notes(plan, bounded)
        notes += _official_notes(plan)
    return Table(FileNote, notes, title="known differences from eager")


def _state_notes(plan: schema.ExecutionPlan) -> list[FileNote]:
    values = plan.values or ()
    return [
        FileNote(
            plan.name or "",
            "file",
            f"state %{index}: {describe_value(values[index].val)}",
            "its first value is not in the file, so it begins as zeros; the model's buffer may have"
            " begun otherwise (the official exporter leaves first values out unless"
            " InitializedMutableBufferPass is run; etlab keeps them)",
        )
        for index in unwritten_values(plan)
    ]


def _clobber_notes(plan: schema.ExecutionPlan) -> list[FileNote]:
    first = {clobber.lost: clobber for clobber in reversed(clobbered_values(plan))}
    return [
        FileNote(
            plan.name or "",
            "file",
            f"instruction {clobber.step}: {clobber.name}",
            f"it overwrites value %{lost}, which is needed afterwards: results of control flow"
            " share memory in this file (a fault of the official exporter); lower the model with"
            " etlab",
        )
        for lost, clobber in sorted(first.items())
    ]


def _interface_notes(plan: schema.ExecutionPlan, bounded: set[str]) -> list[FileNote]:
    notes = []
    name = plan.name or ""
    inputs, outputs = plan.inputs or (), plan.outputs or ()
    extra = [place for place, index in enumerate(outputs) if index in inputs]
    described = _described_outputs(plan)
    if extra and described is not None and len(outputs) > described:
        notes.append(
            FileNote(
                name,
                "file",
                "outputs " + ", ".join(map(str, extra)),
                "they are inputs that the model updates in place, returned besides its results; the"
                " caller's tensors stay as they are, except where etlab's method(…) writes them",
            )
        )
    values = plan.values or ()
    dynamic = [
        place
        for place, index in enumerate(inputs)
        if isinstance(values[index].val, schema.Tensor)
        and values[index].val.shape_dynamism is not TensorShapeDynamism.STATIC  # type: ignore[union-attr]
    ]
    if dynamic and name not in bounded:
        notes.append(
            FileNote(
                name,
                "file",
                "inputs " + ", ".join(map(str, dynamic)),
                "the file holds upper bounds of their sizes only: smaller sizes than the export"
                " allowed are accepted, and their results may be wrong",
            )
        )
    return notes


def _described_outputs(plan: schema.ExecutionPlan) -> int | None:
    from etlab.runtime.nesting import parse_nesting

    container = plan.container_meta_type
    if container is None or not container.encoded_out_str:
        return None
    try:
        spec: pytree.TreeSpec = parse_nesting(container.encoded_out_str)
    except EtlabError:
        return None
    return spec.num_leaves


def _official_notes(plan: schema.ExecutionPlan) -> list[FileNote]:
    found: dict[str, str] = {}
    for chain in plan.chains or ():
        for instruction in chain.instructions or ():
            call = instruction.instr_args
            if not isinstance(call, schema.KernelCall):
                continue
            name, dtype = operator_name(plan, call.op_index), _first_dtype(plan, call.args or ())
            for names, dtypes, text in _OFFICIAL_KERNELS:
                if name in names and dtype in dtypes:
                    found.setdefault(name, text)
    where = "official runtime"
    return [FileNote(plan.name or "", where, name, text) for name, text in sorted(found.items())]


def _first_dtype(plan: schema.ExecutionPlan, arguments: Sequence[int]) -> Any:
    values = plan.values or ()
    for index in arguments:
        value = values[index].val if 0 <= index < len(values) else None
        if isinstance(value, schema.Tensor):
            return DTYPES.get(value.scalar_type)
    return None
