"""View elision: a result that is its input under another shape shares the input's memory.

    view_copy(x, [2, 6]) -> y        nothing runs, y lies where x lies

The graph is functional, so only three things are written twice and need care: outputs, which the
caller may own; buffers and inputs that the method changes at its end. A value returned as an output
always has memory of its own.
"""

from etlab.exir.ops import CLONE_DIM_ORDER, OutVariant
from etlab.exir.schedule import Call, Role, Schedule, Value
from etlab.exir.specs import TensorSpec

_RESHAPES = frozenset(
    {
        "aten::view",
        "aten::_unsafe_view",
        "aten::squeeze",
        "aten::unsqueeze",
        "aten::alias",
        "aten::detach",
        "aten::lift_fresh",
        "aten::reshape",
    }
)
_COPIES = frozenset({"aten::clone", "aten::_to_copy", "aten::expand", "aten::slice"})
_REORDERS = frozenset({"aten::permute", "aten::transpose", "aten::t"})


def elide_views(schedule: Schedule) -> None:
    """Drop the calls whose result can share its input's memory, in place."""
    outputs = {value for value in schedule.outputs if isinstance(value, Value)}
    outputs.update(value for call in schedule.calls for value in _written_state(call))
    # A file does not say how many of a delegate's arguments are outputs. A runtime tells by what is
    # written before and read after the call, so neither may go by the name of a view.
    for call in schedule.calls:
        if call.delegate is not None:
            outputs.update(call.values())
    borders = {v for call in schedule.calls if call.delegate is not None for v in call.outputs}
    kept: list[Call] = []
    for call in schedule.calls:
        is_kept = not _is_free(call) or call.outputs[0] in outputs
        if not is_kept and call.arguments[0] not in borders:
            call.outputs[0].base = call.arguments[0]
        else:
            kept.append(call)
    schedule.calls = kept


def protect_writes(schedule: Schedule) -> None:
    """Copy what is still needed of a buffer or input before it is overwritten, in place.

    Writes stand at the end of a method. Their sources, and outputs, may be the old content of
    another written tensor (two buffers that swap, a counter returned before it is raised).
    """
    first = next((i for i, call in enumerate(schedule.calls) if _is_write(call)), None)
    if first is None:
        return
    writes = schedule.calls[first:]
    written = {call.arguments[0].root for call in writes if _is_write(call)}
    copies: dict[Value, Value] = {}
    for call in writes:
        source = call.arguments[1]
        if source.root in written and len(written) > 1:
            call.arguments[1] = _copy_of(source, copies)
    for index, output in enumerate(schedule.outputs):
        if isinstance(output, Value) and output.root in written:
            schedule.outputs[index] = _copy_of(output, copies)
    calls = [
        Call(CLONE_DIM_ORDER, [value, False, list(copy.spec.dim_order), copy], [copy], value.node)
        for value, copy in copies.items()
        if copy.spec is not None
    ]
    schedule.calls[first:first] = calls


def _copy_of(value: Value, copies: dict[Value, Value]) -> Value:
    if value not in copies:
        copies[value] = Value(f"{value.name}_before", Role.RESULT, value.spec, node=value.node)
    return copies[value]


def _is_write(call: Call) -> bool:
    return isinstance(call.operator, OutVariant) and call.operator.name == "aten::copy_"


def _written_state(call: Call) -> list[Value]:
    return call.outputs if _is_write(call) else []


def keeps_bytes(call: Call) -> bool:
    """Whether the call's result may have the bytes of its first argument, and share its memory."""
    operator = call.operator
    return (
        isinstance(operator, OutVariant)
        and call.may_be_view
        and operator.base_name in _RESHAPES | _COPIES | _REORDERS
    )


def _is_free(call: Call) -> bool:
    """Whether the call's one result has the bytes of its first argument."""
    operator = call.operator
    if not isinstance(operator, OutVariant) or len(call.outputs) != 1 or not call.may_be_view:
        return False
    source, result = call.arguments[0], call.outputs[0]
    if type(source) is not Value or source.spec is None or result.spec is None:
        return False
    before, after = source.spec, result.spec
    if not (before.is_static and after.is_static) or before.dtype != after.dtype:
        return False
    if before.nbytes != after.nbytes or not source.root.is_planned:
        return False
    if source.root.external_tag is not None:  # a runtime compares its sizes with the file's
        return False
    if operator.base_name in _RESHAPES:
        return before.is_contiguous and after.is_contiguous
    if operator.base_name in _COPIES:
        return before.sizes == after.sizes and before.dim_order == after.dim_order
    if operator.base_name in _REORDERS:
        return before.is_contiguous and after.is_contiguous and _moves_nothing(call, before)
    return False


def _moves_nothing(call: Call, before: TensorSpec) -> bool:
    """Whether a permutation leaves the dimensions larger than 1 in their order."""
    rank = len(before.sizes)
    operator = call.operator
    assert operator is not None
    if operator.name == "aten::permute_copy":
        order = [dim % rank for dim in call.arguments[1]] if rank else []
    else:
        order = list(range(rank))
        first, second = call.arguments[1:3] if operator.name == "aten::transpose_copy" else (0, -1)
        if rank > 1:
            order[first % rank], order[second % rank] = order[second % rank], order[first % rank]
    large = [dim for dim in order if before.sizes[dim] != 1]
    return large == sorted(large)
