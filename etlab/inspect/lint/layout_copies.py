"""Copies that only change the order of dimensions in memory."""

from collections.abc import Iterator
from typing import Any

from torch import fx

from etlab.errors import EtlabError
from etlab.exir.emit.dump import operator_name
from etlab.exir.emit.schema import KernelCall, Tensor
from etlab.exir.graph import is_getitem
from etlab.exir.partition.delegate import LoweredModule, executorch_call_delegate
from etlab.exir.partition.inside import Inside
from etlab.exir.partition.registry import backend_class
from etlab.exir.provenance import values_of
from etlab.inspect.costs import bytes_at_example
from etlab.inspect.lint.base import Finding, Rule, Subject, finding_at

_COPIES = (
    "dim_order_ops::_to_dim_order_copy.out",
    "dim_order_ops::_clone_dim_order.out",
    "aten::_to_copy.out",
    "aten::clone.out",
)
_TRANSPOSE = "ranspose"  # in the names that backends give such nodes


def check(subject: Subject) -> Iterator[Finding]:
    """Copies of the program, and transpositions on both sides of a border."""
    yield from _copies(subject)
    yield from _borders(subject)


def _copies(subject: Subject) -> Iterator[Finding]:
    values = subject.plan.values or ()
    by_name = {node.name: node for node in subject.graph.graph.nodes}
    calls = [i.instr_args for chain in subject.plan.chains or () for i in chain.instructions or ()]
    for index, call in enumerate(calls):
        if not isinstance(call, KernelCall) or not call.args:
            continue
        if operator_name(subject.plan, call.op_index) not in _COPIES:
            continue
        source, target = values[call.args[0]].val, values[call.args[-1]].val
        if not isinstance(source, Tensor) or not isinstance(target, Tensor):
            continue
        is_same = source.scalar_type == target.scalar_type and source.sizes == target.sizes
        if not is_same or tuple(source.dim_order or ()) == tuple(target.dim_order or ()):
            continue
        node = by_name.get(subject.nodes[index])
        if node is None:
            continue
        nbytes = sum(bytes_at_example(value) or 0 for value in values_of(node))
        yield finding_at(
            RULE.name,
            subject,
            node,
            f"instruction {index} copies a tensor only to change its layout from"
            f" {list(source.dim_order or ())} to {list(target.dim_order or ())}",
            "keep one layout throughout: call .to(memory_format=torch.channels_last) on the model"
            " and its inputs, or on neither",
            nbytes,
        )


def _borders(subject: Subject) -> Iterator[Finding]:
    insides = {
        node: inside
        for node in subject.graph.graph.nodes
        if (inside := _inside(subject, node)) is not None
    }
    for node, inside in insides.items():
        inputs = len(node.args) - 1
        writers = {number: one for one in inside.nodes for number in one.outputs}
        for number, place in inside.outputs.items():
            writer = writers.get(number)
            if writer is None or _TRANSPOSE not in writer.kind:
                continue
            for result in _results(node, place - inputs):
                yield from _readers(subject, node, result, insides)


def _readers(
    subject: Subject, maker: fx.Node, result: fx.Node, insides: dict[fx.Node, Inside]
) -> Iterator[Finding]:
    for user in result.users:
        inside = insides.get(user)
        if inside is None:
            continue
        place = list(user.args[1:]).index(result)
        numbers = [number for number, own in inside.inputs.items() if own == place]
        reading = [one for one in inside.nodes if set(numbers) & set(one.inputs)]
        if not reading or any(_TRANSPOSE not in one.kind for one in reading):
            continue
        nbytes = sum(bytes_at_example(value) or 0 for value in values_of(result))
        yield finding_at(
            RULE.name,
            subject,
            result,
            f"{maker.name} transposes this tensor when it gives it away, and {user.name} transposes"
            " it back",
            "let one delegate compute both: see run.delegation() for what stands between them and"
            " why it was left out",
            2 * nbytes,
        )


def _results(node: fx.Node, index: int) -> list[fx.Node]:
    """What stands for output `index` of a delegate's call."""
    picks = [user for user in node.users if is_getitem(user)]
    if not picks:
        return [node] if index == 0 else []
    return [user for user in picks if user.args[1] == index]


def _inside(subject: Subject, node: fx.Node) -> Inside | None:
    if node.target is not executorch_call_delegate:
        return None
    first: Any = node.args[0]
    lowered = subject.graph.submodules.get(str(first.target))
    if not isinstance(lowered, LoweredModule):
        return None
    try:
        return backend_class(lowered.backend_id).look_inside(lowered.processed_bytes)
    except EtlabError:
        return None  # a backend of the user's, or one whose bytes are not told


RULE = Rule("layout-copies", "copies that only change the order of dimensions in memory", check)
