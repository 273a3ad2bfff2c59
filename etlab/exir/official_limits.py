"""Calls that the official runtime has a kernel for, and that its kernel refuses: warned of.

They are calls with complex numbers (found by running each operator in executorch 1.5.1). A program
with them runs where etlab's runtime does.
"""

import warnings
from typing import Any

from etlab.exir.ops import OutVariant
from etlab.exir.schedule import Call, Schedule, Value

# Operators that the official kernels compute for complex64.
_COMPLEX = frozenset(
    {
        "aten::_conj_physical", "aten::_fft_c2r", "aten::_fft_r2c", "aten::abs", "aten::add",
        "aten::alias_copy", "aten::as_strided_copy", "aten::bmm", "aten::cat", "aten::clone",
        "aten::copy_", "aten::detach_copy", "aten::diagonal_copy", "aten::expand_copy",
        "aten::index", "aten::index_select", "aten::mul", "aten::narrow_copy",
        "aten::permute_copy", "aten::repeat", "aten::select_copy", "aten::slice_copy",
        "aten::split_copy", "aten::split_with_sizes_copy", "aten::squeeze_copy", "aten::stack",
        "aten::sum", "aten::t_copy", "aten::transpose_copy", "aten::unbind_copy",
        "aten::unfold_copy", "aten::unsqueeze_copy", "aten::view_as_real_copy", "aten::view_copy",
        "dim_order_ops::_clone_dim_order", "dim_order_ops::_to_dim_order_copy",
    }
)  # fmt: skip
_SAME_OPERANDS = frozenset({"aten::add.out", "aten::mul.out"})


def warn_of_limits(schedule: Schedule) -> None:
    """Warn of what the official runtime will refuse, a sentence an operator."""
    refused = {call.name for call in schedule.calls if _is_refused(call)}
    for name in sorted(refused):
        warnings.warn(
            f"method '{schedule.name}': the official runtime's kernel of {name} refuses these"
            " complex numbers; the program will only run where etlab's runtime does. Compute with"
            " the real and imaginary parts (torch.view_as_real) where it must run officially",
            stacklevel=2,
        )


def _is_refused(call: Call) -> bool:
    operator = call.operator
    if not isinstance(operator, OutVariant) or not operator.is_official:
        return False
    values = [value for value in call.values() if value.spec is not None]
    dtypes = {value.spec.dtype for value in values if value.spec is not None}
    if not any(dtype.is_complex for dtype in dtypes):
        return False
    if operator.name == "aten::_fft_r2c":
        return not call.arguments[3]  # the whole spectrum of a real signal
    if operator.full_name in _SAME_OPERANDS:
        return len(dtypes) > 1 or any(not _sizes(value) for value in call.arguments[:2])
    is_number_apart = operator.overload.startswith("Scalar")
    return operator.name not in _COMPLEX or is_number_apart


def _sizes(value: Any) -> tuple[int, ...]:
    return value.spec.sizes if isinstance(value, Value) and value.spec is not None else ()
