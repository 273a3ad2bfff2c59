"""Parameters that are tensor subclasses: their inner tensors are stored."""

from typing import Any

from torch import fx

from etlab.exir.decompose.plan import rule
from etlab.exir.decompose.walk import Walk


@rule("export.access_subclass_inner_tensor.default")
def inner_tensor(walk: Walk, val: Any, tensor: fx.Node, attribute: str) -> fx.Node:
    return walk.constant(getattr(walk.tensors[tensor], attribute), f"{tensor.name}_{attribute}")
