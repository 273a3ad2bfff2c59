"""What partitioners are written with: grouping by a predicate, tagging, constants."""

from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

from etlab.exir.partition.grouping import group_supported
from etlab.exir.partition.lower import SHARED_TAGS
from etlab.exir.partition.partitioner import DelegationSpec, PartitionResult

_CONSTANT = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def partition_by_support(
    program: ExportedProgram,
    spec: DelegationSpec,
    why_not: Callable[[fx.Node], str | None],
    *,
    prefix: str = "tag",
    min_nodes: int = 1,
) -> PartitionResult:
    """Give a backend all that it supports, in groups as large as possible.

    Args:
        program: what `Partitioner.partition` was given.
        spec: the backend and its options, the same for every group.
        why_not: the reason why the backend does not take a call, in words; None when it does.
        prefix: of the tags.
        min_nodes: smaller groups are left alone.
    """
    reasons: dict[str, str] = {}

    def is_supported(node: fx.Node) -> bool:
        reason = why_not(node)
        if reason is not None:
            reasons[node.name] = reason
        return reason is None

    tags: dict[str, DelegationSpec] = {}
    for group in group_supported(program.graph.nodes, is_supported):
        if len(group) < min_nodes:
            for node in group:
                reasons[node.name] = (
                    f"its group has {len(group)} node(s), fewer than min_nodes={min_nodes}: "
                    "lower min_nodes"
                )
            continue
        tag = f"{prefix}{len(tags)}"
        tags[tag] = spec
        for node in group:
            node.meta["delegation_tag"] = tag
    tag_constant_data(program)
    return PartitionResult(program, tags, reasons)


def why_not_tensors(node: fx.Node) -> str | None:
    """Why a call is not one of tensors that gives tensors; None when it is."""
    if not isinstance(node.target, OpOverload):
        return "it is not an operator on tensors"
    if not _all_tensors(node.meta["val"]):
        return "its result is a number, not a tensor"
    if any(not _all_tensors(source.meta.get("val")) for source in node.all_input_nodes):
        return "it takes a size that is known only at run time"
    return None


def _all_tensors(val: Any) -> bool:
    values = val if isinstance(val, tuple | list) else (val,)
    return all(isinstance(value, torch.Tensor) for value in values)


def names_of(target: OpOverload) -> set[str]:
    """The ways to name an operator; a `_copy` also by the name of its view.

    >>> sorted(names_of(torch.ops.aten.mm.default))
    ['aten.mm', 'aten.mm.default', 'mm']
    """
    bare = target._opname
    base = bare.removesuffix("_copy")
    packets = {bare, base, f"{target.namespace}.{bare}", f"{target.namespace}.{base}"}
    return packets | {str(target), f"{target.namespace}.{base}.{target._overloadname}"}


def tag_constant_data(edge_program: ExportedProgram) -> None:
    """Send constants along with the calls that use them.

    A parameter, buffer or constant that nothing writes gets the tags of its users. Where several
    delegates, or others, use it too, each gets it.
    """
    signature = edge_program.graph_signature
    written = {
        spec.target for spec in signature.output_specs if spec.kind is OutputKind.BUFFER_MUTATION
    }
    constants = {
        spec.arg.name
        for spec in signature.input_specs
        if spec.kind in _CONSTANT and spec.target not in written
    }
    for node in edge_program.graph.nodes:
        if node.op != "placeholder":
            break
        if node.name in constants:
            _tag_like_users(node)


def _tag_like_users(node: fx.Node) -> None:
    tags: list[Any] = sorted({user.meta.get("delegation_tag") or "" for user in node.users})
    named = [tag for tag in tags if tag]
    if len(tags) == 1 and named:
        node.meta["delegation_tag"] = named[0]
    elif named:
        node.meta[SHARED_TAGS] = tuple(named)
