"""Which operators an edge graph may hold, and how a schema reads: functional, view, write.

Everything here is a question about one `OpOverload`, answered once per process.
"""

import functools
from typing import Any

import torch
from torch._ops import OpOverload

from etlab.exir import extended_operators
from etlab.exir.ops import PRIM_OPERATORS, find_out_variant
from etlab.exir.recurrent import RECURRENT

aten = torch.ops.aten

_WITHOUT_OWN_KERNELS = {"aten", "torchao"}

# Kept whole in the edge graph although no kernel serves them: a pass expands them before emission.
EXPANDED_LATER = frozenset({aten.scaled_dot_product_attention.default}) | RECURRENT


def qualified_name(operator: OpOverload) -> str:
    """`aten::add.out`: how the dispatcher calls it."""
    overload = operator._schema.overload_name
    return f"{operator._schema.name}.{overload}" if overload else operator._schema.name


@functools.cache
def has_kernel(operator: OpOverload) -> bool:
    """Whether the official runtime, or only ours, has a kernel for the out variant of `operator`.

    Those that only ours has are refused at emission where they are not allowed. Operators of
    namespaces other than aten count when they have an out variant at all: their author brings the
    kernel. Those of torchao have one only in backends.
    """
    if operator in PRIM_OPERATORS:
        return True
    variant = find_out_variant(operator)
    return variant is not None and (
        variant.is_official
        or variant.full_name in extended_operators.NAMES
        or operator.namespace not in _WITHOUT_OWN_KERNELS
    )


@functools.cache
def is_write(operator: OpOverload) -> bool:
    """Whether the operator writes one of its arguments."""
    return bool(operator._schema.is_mutable)


@functools.cache
def returns_fresh(operator: OpOverload) -> bool:
    """Whether a result is new memory; some operators write an argument beside that."""
    return any(result.alias_info is None for result in operator._schema.returns)


@functools.cache
def is_view(operator: OpOverload) -> bool:
    """Whether a result shares memory with an argument that is not written."""
    return any(
        result.alias_info is not None and not result.alias_info.is_write
        for result in operator._schema.returns
    )


@functools.cache
def copy_variant(operator: OpOverload) -> OpOverload | None:
    """`aten.view_copy.default` of `aten.view.default`; None when there is none with a kernel."""
    packet: Any = getattr(aten, f"{operator._opname}_copy", None)
    if packet is None or not hasattr(packet, "overloads"):
        return None
    if operator._overloadname not in packet.overloads():
        return None
    copy = getattr(packet, operator._overloadname)
    return copy if has_kernel(copy) else None


@functools.cache
def functional_variant(operator: OpOverload) -> OpOverload | None:
    """`aten.add.Tensor` of `aten.add_.Tensor`, or of `aten.add.out`; None when there is none."""
    # By type alone: the first argument is called `self` here and `input` there.
    wanted = [str(a.type) for a in operator._schema.arguments if not a.is_out]
    name = operator._schema.name.split("::")[1]
    namespace = getattr(torch.ops, operator.namespace)
    for bare in _functional_names(name):
        packet: Any = getattr(namespace, bare, None)
        if packet is None or not hasattr(packet, "overloads"):
            continue
        for overload_name in packet.overloads():
            candidate = getattr(packet, overload_name)
            if candidate._schema.is_mutable:
                continue
            if [str(a.type) for a in candidate._schema.arguments] == wanted:
                return candidate  # type: ignore[no-any-return]  # packets are untyped
    return None


def _functional_names(name: str) -> list[str]:
    """What the functional twin of a writing operator may be called."""
    if name.startswith("__i") and name.endswith("__"):
        return [f"__{name[3:]}"]
    if not name.endswith("_"):
        return [name]
    return [name[:-1], f"{name[:-1]}_functional"]


@functools.cache
def scalar_variant(operator: OpOverload) -> OpOverload | None:
    """`aten.mul.Scalar` of `aten.mul.Tensor`: for a number in the place of the second tensor."""
    packet: Any = operator._overloadpacket
    names = {
        "Tensor": ("Scalar", "Tensor_Scalar"),
        "Tensor_mode": ("Scalar_mode",),
        "Tensor_Tensor": ("Tensor_Scalar",),
        "self": ("Scalar",),
    }.get(operator._overloadname, ())
    for name in names:
        if name in packet.overloads():
            candidate = getattr(packet, name)
            if has_kernel(candidate):
                return candidate  # type: ignore[no-any-return]  # packets are untyped
    return None


@functools.cache
def decomposition_table() -> dict[Any, Any]:
    """Our own decompositions and the official core ATen ones.

    Without the composite operators of the official table: those are asked for their own
    `decompose()` when met, since listing all of them costs 0.1 s.
    """
    from torch._decomp import _core_aten_decompositions_post_autograd

    from etlab.exir.decompose.recipes import all_recipes

    return {**_core_aten_decompositions_post_autograd(), **all_recipes()}


@functools.cache
def has_python_body(operator: OpOverload) -> bool:
    """Whether the operator is a function of other operators that a library wrote in Python."""
    return operator.namespace == "torchao" and torch._C._dispatch_has_kernel_for_dispatch_key(
        qualified_name(operator), torch._C.DispatchKey.CompositeExplicitAutograd
    )


@functools.cache
def is_composite(operator: OpOverload) -> bool:
    """Whether the operator's only implementation is a program of other operators."""
    return operator.namespace != "prim" and torch._C._dispatch_has_kernel_for_dispatch_key(
        qualified_name(operator), torch._C.DispatchKey.CompositeImplicitAutograd
    )
