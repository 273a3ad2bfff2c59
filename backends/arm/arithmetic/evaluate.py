"""Computes a TOSA graph, operator by operator."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from etlab.backends.arm.arithmetic import elementwise, movement, windows
from etlab.backends.arm.format.operators import DType, name_of
from etlab.backends.arm.format.schema import Graph, TensorEntry
from etlab.errors import NotSupportedError

RULES = {**elementwise.RULES, **movement.RULES, **windows.RULES}

_NUMPY = {
    DType.BOOL: ("?", torch.bool),
    DType.INT8: ("<i1", torch.int8),
    DType.INT16: ("<i2", torch.int16),
    DType.INT32: ("<i4", torch.int32),
}


def evaluate(graph: Graph, inputs: Sequence[Any]) -> dict[str, torch.Tensor]:
    """The values of a graph's first block.

    Args:
        graph: of integers.
        inputs: of the graph, in order.

    Returns:
        Tensors by name; sums of 48 bits are int64.

    Raises:
        NotSupportedError: it has an operator that is not computed here.
    """
    block = graph.main
    entries = {entry.name: entry for entry in block.tensors or ()}
    sizes = {
        shape.name: np.frombuffer(shape.data or b"", "<i8").tolist() for shape in block.shapes or ()
    }
    values: dict[str, Any] = dict(zip(block.inputs or (), inputs, strict=True))
    with torch.no_grad():
        for operator in block.operators or ():
            (name,) = operator.outputs or ("",)
            if name in sizes:
                continue
            entry, attributes = entries[name], operator.attribute
            if entry.data is not None:
                values[name] = _constant(entry)
                continue
            kind = name_of(attributes)
            if kind not in RULES:
                raise NotSupportedError(f"TOSA's {kind} is not computed in PyTorch")
            given = [sizes[one] if one in sizes else values[one] for one in operator.inputs or ()]
            values[name] = RULES[kind](attributes, given, entry)
    return values


def _constant(entry: TensorEntry) -> torch.Tensor:
    data, shape = entry.data or b"", tuple(entry.shape or ())
    if entry.type is DType.INT48:
        low = np.frombuffer(data, np.uint8).reshape(-1, 6)
        wide = np.zeros((len(low), 8), np.uint8)
        wide[:, :6], wide[:, 6:] = low, np.where(low[:, 5:] >= 128, 255, 0)
        return torch.from_numpy(wide.view("<i8").reshape(shape).copy())
    code, dtype = _NUMPY[entry.type]
    return torch.from_numpy(np.frombuffer(data, code).reshape(shape).copy()).to(dtype)
