"""What a call costs before it is measured: FLOPs and bytes, at the sizes of the example."""

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import torch
from torch import fx

from etlab.exir.graph import map_values
from etlab.exir.provenance import operator_of, values_of

_PICKS = {"embedding", "gather", "index", "index_select", "select_copy", "slice_copy"}


def size_at_example(size: int | torch.SymInt) -> int | None:
    """A size, or what it was in the example; None when it depends on data."""
    if isinstance(size, int):
        return size
    return int(size.node.hint) if size.node.has_hint() else None


def bytes_at_example(value: torch.Tensor) -> int | None:
    """Bytes of a tensor at the sizes of the example; None when they depend on data."""
    sizes = [size_at_example(size) for size in value.shape]
    if None in sizes:
        return None
    return math.prod(size or 0 for size in sizes) * value.element_size()


def bytes_of_call(node: fx.Node) -> int | None:
    """Bytes that a call reads and writes, weights included; None when unknown.

    An operator that picks elements reads as many of its source as it gives.
    """
    sources = node.all_input_nodes
    results = values_of(node)
    values = [*results, *(value for one in sources for value in values_of(one))]
    if operator_of(node) in _PICKS and sources:
        others = (value for one in sources[1:] for value in values_of(one))
        values = [*results, *results, *others]
    sizes = [bytes_at_example(value) for value in values]
    return None if None in sizes else sum(size or 0 for size in sizes)


def flops_of_call(node: fx.Node) -> int | None:
    """Floating-point operations of a call by PyTorch's own formulas.

    These count matrix products, convolutions and attention, two for a multiplication with its
    addition, and nothing for the rest (`torch.utils.flop_counter`). None: sizes depend on data, or
    the call runs graphs of its own.
    """
    target: Any = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return None
    if not _counts(target):
        return 0
    values = [value for one in (*node.all_input_nodes, node) for value in values_of(one)]
    if any(bytes_at_example(value) is None for value in values):
        return None
    args, kwargs = map_values(_shaped, (tuple(node.args), dict(node.kwargs)))
    return _count(target, _hashable(args), _hashable(kwargs))


@cache
def _counts(target: torch._ops.OpOverload) -> bool:
    """Whether the operator has a formula, or is made of operators that may have one."""
    from torch.utils.flop_counter import flop_registry

    schema = target._schema
    name = f"{schema.name}.{schema.overload_name}".rstrip(".")
    is_composite = torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")
    return target.overloadpacket in flop_registry or bool(is_composite)


@dataclass(frozen=True, slots=True)
class _Shaped:
    """A tensor without data, as a key: models repeat their layers."""

    sizes: tuple[int, ...]
    dtype: torch.dtype


@lru_cache(maxsize=4096)
def _count(target: torch._ops.OpOverload, args: Any, kwargs: Any) -> int | None:
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    try:
        with torch.no_grad(), counter:
            target(*map(_on_meta, args), **{name: _on_meta(value) for name, value in kwargs})
    except (RuntimeError, NotImplementedError):
        return None  # an operator that cannot be followed without data
    return int(counter.get_total_flops())


def _shaped(value: Any) -> Any:
    """A leaf of a call's arguments at the sizes of the example."""
    if isinstance(value, fx.Node):
        value = value.meta.get("val")
    if isinstance(value, torch.Tensor):
        return _Shaped(tuple(size_at_example(size) or 0 for size in value.shape), value.dtype)
    if isinstance(value, torch.SymInt):
        return size_at_example(value)
    if isinstance(value, tuple | list):
        return tuple(map(_shaped, value))
    return value


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((name, _hashable(item)) for name, item in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, tuple | list) else value


def _on_meta(value: Any) -> Any:
    if isinstance(value, _Shaped):
        return torch.empty(value.sizes, dtype=value.dtype, device="meta")
    return [*map(_on_meta, value)] if isinstance(value, tuple) else value
