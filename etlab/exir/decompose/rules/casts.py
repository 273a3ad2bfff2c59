"""Conversions of dtype, device and layout; only those of dtype change anything here."""

from typing import Any

import torch
from torch import fx

from etlab.exir.decompose.layouts import is_changed_by_to
from etlab.exir.decompose.plan import rule
from etlab.exir.decompose.walk import Walk

aten = torch.ops.aten


def cast(walk: Walk, tensor: fx.Node, dtype: torch.dtype | None, *, copy: bool = False) -> fx.Node:
    """`tensor` in `dtype`; itself when it has that dtype and no copy is asked for."""
    old = tensor.meta["val"]
    if dtype is None or dtype == old.dtype:
        return walk.emit(aten.clone.default, tensor, val=old) if copy else tensor
    return walk.emit(aten._to_copy.default, tensor, dtype=dtype, val=walk.fake(old.shape, dtype))


@rule("aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.to.other")
@rule("aten.type_as.default")
def convert(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    *args: Any,
    dtype: torch.dtype | None = None,
    copy: bool = False,
    memory_format: torch.memory_format | None = None,
    **_: Any,
) -> fx.Node:
    """All have a dtype or a tensor that has it, then `non_blocking`, `copy`, `memory_format`."""
    place = next((i for i, a in enumerate(args) if isinstance(a, torch.dtype | fx.Node)), None)
    if place is not None:
        given, *flags = args[place:]
        dtype = given.meta["val"].dtype if isinstance(given, fx.Node) else given
        copy = flags[1] if len(flags) > 1 else copy
        memory_format = flags[2] if len(flags) > 2 else memory_format
    if walk.shared.mutates:
        copy = copy or is_changed_by_to(walk.eager_val(tensor), memory_format)
    return cast(walk, tensor, dtype, copy=copy)


@rule("aten._to_copy.default", "prims.convert_element_type.default")
def convert_always(
    walk: Walk, val: Any, tensor: fx.Node, dtype: torch.dtype | None = None, **_: Any
) -> fx.Node:
    """New memory even where nothing changes; without writes nobody can tell."""
    return cast(walk, tensor, dtype, copy=walk.shared.mutates)
