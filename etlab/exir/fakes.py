"""Meta values: the FakeTensors that say a node's size and dtype.

Inside an edge graph every tensor is contiguous: views are copies, and a layout asked for by the
model changes no number. Placeholders keep the layout they were exported with.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

_CPU = torch.device("cpu")


def fake_mode_of(graph: fx.Graph) -> FakeTensorMode:
    """The mode of the graph's meta values; a new one when it has no tensors."""
    for node in graph.nodes:
        val = node.meta.get("val")
        if isinstance(val, FakeTensor):
            return val.fake_mode
    return FakeTensorMode()


def fake(mode: FakeTensorMode, shape: Sequence[Any], dtype: torch.dtype) -> FakeTensor:
    """A contiguous fake tensor, without running an operator on fakes (about 8 us)."""
    return FakeTensor(mode, torch.empty(tuple(shape), dtype=dtype, device="meta"), _CPU)


def contiguous(mode: FakeTensorMode, val: Any) -> Any:
    """`val` with every tensor in it contiguous."""
    if isinstance(val, list | tuple):
        return tuple(contiguous(mode, item) for item in val)
    if not isinstance(val, torch.Tensor):
        return val
    if (
        isinstance(val, FakeTensor)
        and not val._has_symbolic_sizes_strides
        and val.is_contiguous()
        and val.device == _CPU
    ):
        return val
    return fake(mode, val.shape, val.dtype)
