"""Constants and computations in 64 bits where 32 would do."""

from collections.abc import Iterator

import torch
from torch import fx
from torch.export.graph_signature import InputKind

from etlab.exir.provenance import values_of
from etlab.inspect.costs import bytes_at_example
from etlab.inspect.lint.base import Finding, Rule, Subject, finding_at
from etlab.inspect.lint.quantization import is_quantization

_SMALLEST = 256  # bytes of a constant that is worth a line
_WIDE = {torch.float64: torch.float32, torch.complex128: torch.complex64, torch.int64: torch.int32}


def check(subject: Subject) -> Iterator[Finding]:
    """Constants, then where float64 begins."""
    places = [node for node in subject.graph.graph.nodes if node.op == "placeholder"]
    for node, spec in zip(places, subject.graph.inputs, strict=True):
        if spec.kind is InputKind.USER_INPUT or all(map(is_quantization, node.users)):
            continue
        tensor = subject.graph.tensors.get(str(spec.target))
        if tensor is not None:
            yield from _constant(subject, node, str(spec.target), tensor)
    for node in subject.graph.graph.nodes:
        if node.op == "call_function" and _is_double(node):
            sources = [one for one in node.all_input_nodes if values_of(one)]
            if not any(_is_double(one) for one in sources):
                yield finding_at(
                    RULE.name,
                    subject,
                    node,
                    "what follows is computed in float64: twice the bytes, and no delegate takes"
                    " it",
                    "cast to float32 in the model, or remove the .double() or the float64 scalar"
                    " tensor that brings it about",
                    sum(bytes_at_example(value) or 0 for value in values_of(node)),
                )


def _constant(
    subject: Subject, node: fx.Node, name: str, tensor: torch.Tensor
) -> Iterator[Finding]:
    narrow = _WIDE.get(tensor.dtype)
    nbytes = tensor.numel() * tensor.element_size()
    if narrow is None or nbytes < _SMALLEST or not _fits(tensor, narrow):
        return
    user = next(iter(node.users))
    wide, kind = (str(one).removeprefix("torch.") for one in (tensor.dtype, narrow))
    yield finding_at(
        RULE.name,
        subject,
        user,
        f"the constant '{name}' is stored in {wide}; {kind} holds its values in half the bytes",
        f"store it as {kind} in the model"
        + (
            " (embedding and index take int32)"
            if tensor.dtype == torch.int64
            else ": model.float() converts parameters and buffers"
        ),
        nbytes,
    )


def _fits(tensor: torch.Tensor, narrow: torch.dtype) -> bool:
    """Whether integers keep their values; floating-point numbers are rounded by intent."""
    if narrow is not torch.int32 or not tensor.numel():
        return True
    limits = torch.iinfo(torch.int32)
    return int(tensor.min()) >= limits.min and int(tensor.max()) <= limits.max


def _is_double(node: fx.Node) -> bool:
    return any(value.dtype == torch.float64 for value in values_of(node))


RULE = Rule("wide-numbers", "constants and computations in 64 bits where 32 would do", check)
