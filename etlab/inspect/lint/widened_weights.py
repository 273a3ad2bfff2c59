"""Integer and half weights that a delegate keeps in float32."""

from collections.abc import Iterator

from torch import fx

from etlab import display
from etlab.exir.partition.delegate import LoweredModule, executorch_call_delegate
from etlab.inspect.lint.base import Finding, Rule, Subject, finding_at
from etlab.inspect.lint.quantization import is_quantization

_FLOAT_BYTES = 4


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each delegate that stores much more than the constants it was given."""
    for node in subject.graph.graph.nodes:
        if node.target is not executorch_call_delegate:
            continue
        lowered = subject.graph.submodules[str(node.args[0])]
        assert isinstance(lowered, LoweredModule)
        narrow = _narrow_weights(lowered)
        given = sum(tensor.nbytes for tensor in lowered.original.tensors.values())
        widened = sum(_FLOAT_BYTES * count - nbytes for _, count, nbytes in narrow)
        stored = sum(map(len, lowered.named_data.values())) or len(lowered.processed_bytes)
        if not narrow or stored <= given + widened // 4:
            continue
        yield finding_at(
            RULE.name,
            subject,
            narrow[0][0],
            f"{lowered.backend_id} stores {display.format_bytes(stored)} for"
            f" {display.format_bytes(given)} of constants: it computes with weights of"
            " fewer bits in float32, and keeps them so",
            "choose a quantizer whose weights the backend has kernels for (int8, int8-weights,"
            " 8da4w), or leave these layers out of the delegate",
            stored - given,
        )


def _narrow_weights(lowered: LoweredModule) -> list[tuple[fx.Node, int, int]]:
    """The reader, number of elements and bytes of halves, and of integers that are dequantized."""
    graph = lowered.original
    places = [node for node in graph.graph.nodes if node.op == "placeholder"]
    found = []
    for node, spec in zip(places, graph.inputs, strict=True):
        tensor = graph.tensors.get(str(spec.target))
        users = list(node.users)
        if tensor is None or tensor.element_size() >= _FLOAT_BYTES or not users:
            continue
        if tensor.is_floating_point():
            found.append((users[0], tensor.numel(), tensor.nbytes))
        elif all(is_quantization(user) and user.args[0] is node for user in users):
            found.append((next(iter(users[0].users), users[0]), tensor.numel(), tensor.nbytes))
    return found


RULE = Rule("widened-weights", "integer and half weights that a delegate keeps in float32", check)
