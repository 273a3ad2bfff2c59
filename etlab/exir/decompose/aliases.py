"""Who shares memory with whom while writes are turned into values.

A *handle* is the node that first stood for a tensor; it goes on standing for that tensor while
writes give it new values. `current(handle)` is the node that holds its value now: for a view whose
base was written since, the view is taken again from the base's new value.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import fx
from torch._ops import OpOverload

aten = torch.ops.aten


class BeyondWalkError(Exception):
    """Something that only torch's own functionalization can bring over; says what, in words."""


class Emitter(Protocol):
    """What is needed to make nodes that take a view, or put one back."""

    def emit(self, target: OpOverload, *args: Any, val: Any = None, **kwargs: Any) -> fx.Node:
        """Make a node."""

    def size_arguments(self, tensor: fx.Node) -> list[Any]:
        """The sizes of a tensor as arguments: numbers, or nodes where they are symbolic."""


@dataclass(slots=True, eq=False)
class _Base:
    """Memory of its own; `version` counts the writes."""

    handle: fx.Node
    version: int = 0


@dataclass(slots=True, eq=False)
class _Alias:
    """A handle: its memory, how it is taken from its parent, and its newest node."""

    base: _Base
    parent: fx.Node | None
    view: tuple[OpOverload, tuple[Any, ...], dict[str, Any]] | None
    node: fx.Node
    version: int


class Aliases:
    """The aliases of one graph."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter
        self._aliases: dict[fx.Node, _Alias] = {}
        self.has_writes = False

    def _alias(self, handle: fx.Node) -> _Alias:
        alias = self._aliases.get(handle)
        if alias is None:
            alias = _Alias(_Base(handle), None, None, handle, 0)
            self._aliases[handle] = alias
        return alias

    def add_view(
        self,
        handle: fx.Node,
        parent: fx.Node,
        operator: OpOverload,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Say that `handle` is the view `operator(parent, *args, **kwargs)`."""
        base = self._alias(parent).base
        self._aliases[handle] = _Alias(base, parent, (operator, args, kwargs), handle, base.version)

    def current(self, handle: fx.Node) -> fx.Node:
        """The node that holds the value of `handle` now."""
        alias = self._aliases.get(handle)
        if alias is None:
            return handle
        if alias.parent is None or alias.version == alias.base.version:
            return alias.node
        assert alias.view is not None
        operator, args, kwargs = alias.view
        alias.node = self._emitter.emit(
            _copying(operator), alias.parent, *args, val=handle.meta["val"], **kwargs
        )
        alias.version = alias.base.version
        return alias.node

    def write(self, handle: fx.Node, value: fx.Node) -> None:
        """Give `handle`, and the memory under it, the value of node `value`.

        Raises:
            BeyondWalkError: a view on the way to the base cannot be inverted.
        """
        self.has_writes = True
        alias = self._alias(handle)
        changed = [alias]
        values = [value]
        while alias.parent is not None:
            assert alias.view is not None
            value = self._put_back(alias, value)
            alias = self._alias(alias.parent)
            changed.append(alias)
            values.append(value)
        alias.base.version += 1
        for changed_alias, node in zip(changed, values, strict=True):
            changed_alias.node = node
            changed_alias.version = alias.base.version

    def was_written(self, handle: fx.Node) -> bool:
        """Whether the memory that `handle` stands for has been written."""
        alias = self._aliases.get(handle)
        return alias is not None and alias.base.version > 0

    def _put_back(self, alias: _Alias, value: fx.Node) -> fx.Node:
        """The parent's new value after a view of it became `value`."""
        operator, args, kwargs = alias.view  # type: ignore[misc]  # views have one
        parent = alias.parent
        assert parent is not None
        emit, val = self._emitter.emit, parent.meta["val"]
        name = operator._opname
        if name in ("alias", "detach", "lift_fresh"):
            return value
        if name in ("view", "unsqueeze", "squeeze", "_unsafe_view", "_reshape_alias"):
            sizes = self._emitter.size_arguments(parent)
            return emit(aten.view_copy.default, value, sizes, val=val)
        if name == "transpose":
            return emit(aten.transpose_copy.int, value, *args, val=val, **kwargs)
        if name == "t":
            return emit(aten.t_copy.default, value, val=val)
        if name == "permute":
            rank = val.dim()
            order = [dim % rank for dim in args[0]]
            inverse = sorted(range(rank), key=order.__getitem__)
            return emit(aten.permute_copy.default, value, inverse, val=val)
        if name == "slice":
            return emit(aten.slice_scatter.default, parent, value, *args, val=val, **kwargs)
        if name == "select":
            return emit(aten.select_scatter.default, parent, value, *args, val=val, **kwargs)
        if name == "expand" and tuple(value.meta["val"].shape) == tuple(val.shape):
            return value
        raise BeyondWalkError(f"a tensor is written through a view taken by {operator}")


def _copying(operator: OpOverload) -> OpOverload:
    from etlab.exir.decompose.operators import copy_variant

    copy = copy_variant(operator)
    if copy is None:
        raise BeyondWalkError(f"a tensor is written through a view taken by {operator}")
    return copy


def single_views(
    target: OpOverload, node: fx.Node, args: Any, kwargs: Any
) -> list[tuple[Any, ...]]:
    """The results of a splitting view as views of their own: slices or selections."""
    parts = node.meta["val"]
    name = target._opname
    position = 1 if name == "unbind" else 2
    dim = args[position] if len(args) > position else kwargs.get("dim", 0)
    if name == "unbind":
        return [(aten.select.int, dim, index) for index in range(len(parts))]
    if name not in ("split", "split_with_sizes"):
        raise BeyondWalkError(f"a tensor is written beside a view taken by {target}")
    views, start = [], 0
    for part in parts:
        end = start + part.shape[dim]
        views.append((aten.slice.Tensor, dim, start, end))
        start = end
    return views
