"""What an operator was called with, in words: arguments, weights, scales."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from etlab.numerics.operators import QUANTIZE, Operator


def parameters_of(
    operator: Operator, exported: ExportedProgram, lowered: ExportedProgram
) -> Mapping[str, str]:
    """Arguments of an operator by the names of its schema; scale and zero point of its result."""
    node = next(one for one in exported.graph.nodes if one.name == operator.name)
    targets = {
        spec.arg.name: str(spec.target)
        for spec in exported.graph_signature.input_specs
        if isinstance(spec.target, str)
    }
    found: dict[str, str] = {}
    schema = getattr(node.target, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema is not None else []
    for place, value in enumerate(node.args):
        name = names[place] if place < len(names) else f"argument {place}"
        found[name] = _said(value, targets)
    found |= {name: _said(value, targets) for name, value in node.kwargs.items()}
    nodes = {one.name: one for one in lowered.graph.nodes}
    for name in operator.chain:
        one = nodes.get(name)
        if one is not None and str(one.target) == QUANTIZE:
            found["scale"] = f"{one.args[1]:.6g}"
            found["zero point"] = str(one.args[2])
    return found


def clip_of(node: fx.Node | None) -> tuple[float, float] | None:
    """The smallest and largest value that a quantization can hold; None for other nodes."""
    if node is None or str(node.target) != QUANTIZE:
        return None
    arguments: Any = node.args
    scale, zero_point, low, high = arguments[1:5]
    return float((low - zero_point) * scale), float((high - zero_point) * scale)


def _said(value: Any, targets: Mapping[str, str]) -> str:
    if not isinstance(value, fx.Node):
        return str(value)
    held = value.meta.get("val")
    text = targets.get(value.name, value.name)
    if isinstance(held, torch.Tensor):
        sizes = ", ".join(map(str, held.shape))
        text += f": {str(held.dtype).removeprefix('torch.')}[{sizes}]"
    return text
