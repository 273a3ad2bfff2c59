"""Conversions of dtype, device and layout; only those of dtype change anything here."""

from typing import Any

import torch
from torch import fx

from etlab.exir.decompose.plan import rule
from etlab.exir.decompose.walk import Walk

aten = torch.ops.aten


def cast(walk: Walk, tensor: fx.Node, dtype: torch.dtype | None, *, copy: bool = False) -> fx.Node:
    """`tensor` in `dtype`; itself when it has that dtype and no copy is asked for."""
    old = tensor.meta["val"]
    if dtype is None or dtype == old.dtype:
        return walk.emit(aten.clone.default, tensor, val=old) if copy else tensor
    return walk.emit(aten._to_copy.default, tensor, dtype=dtype, val=walk.fake(old.shape, dtype))


@rule("aten.to.dtype")
def to_dtype(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    dtype: torch.dtype,
    non_blocking: bool = False,
    copy: bool = False,
    **_: Any,
) -> fx.Node:
    return cast(walk, tensor, dtype, copy=copy)


@rule("aten.to.dtype_layout", "aten._to_copy.default")
def to_layout(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    *,
    dtype: torch.dtype | None = None,
    copy: bool = False,
    **_: Any,
) -> fx.Node:
    return cast(walk, tensor, dtype, copy=copy)


@rule("aten.to.device")
def to_device(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    device: Any,
    dtype: torch.dtype,
    non_blocking: bool = False,
    copy: bool = False,
    **_: Any,
) -> fx.Node:
    return cast(walk, tensor, dtype, copy=copy)


@rule("aten.to.other", "aten.type_as.default")
def to_other(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    other: fx.Node,
    non_blocking: bool = False,
    copy: bool = False,
    **_: Any,
) -> fx.Node:
    return cast(walk, tensor, other.meta["val"].dtype, copy=copy)


@rule("prims.convert_element_type.default")
def convert_element_type(walk: Walk, val: Any, tensor: fx.Node, dtype: torch.dtype) -> fx.Node:
    return cast(walk, tensor, dtype)
