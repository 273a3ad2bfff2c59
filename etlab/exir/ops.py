"""The operator set: which out variant of an operator stands in a file, and how it is called.

Out variants are found by schema, once per operator and process: the overload that takes the same
arguments and writes its results into `out` arguments. The names of what the official runtime can
run are in `etlab.exir.official_operators`.
"""

import math
import operator as python_operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import fx

from etlab.exir import extended_operators, official_operators

# Arguments of creation operators that out variants leave to their output.
_LEFT_TO_OUTPUT = frozenset({"dtype", "layout", "device", "pin_memory", "memory_format"})
_SYNTHESIZED_NAMESPACES = frozenset({"quantized_decomposed", "torchao", "llama"})
# Libraries of torch and of the runtimes, which no user adds operators to.
_OWN_NAMESPACES = _SYNTHESIZED_NAMESPACES | {
    "aten", "prim", "prims", "rngprims", "higher_order", "profiler", "quantized", "_quantized",
    "mkldnn", "inductor", "dim_order_ops", "executorch_prim", "etlab",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operator as it stands in a file.

    Attributes:
        name: its name in the schema.
        base: `Tensor`, `int`, `float`, `bool`, `number`, `str`, `ScalarType`, `Layout`,
            `MemoryFormat`, `Device` or `Generator`.
        is_list: a list of `base`.
        has_optional_items: a list whose items may be None.
        length: number of items that a lone integer stands for, as in `int[2]`.
        default: what an omitted argument is.
        is_out: the kernel writes it.
    """

    name: str
    base: str
    is_list: bool = False
    has_optional_items: bool = False
    length: int | None = None
    default: Any = None
    is_out: bool = False


@dataclass(frozen=True, slots=True)
class OutVariant:
    """An operator of a file, and how a functional operator's arguments map to its own.

    Attributes:
        name: with namespace, `aten::add`.
        overload: `out`; may be empty.
        arguments: in schema order, outputs included.
        sources: for each argument, its place and name among those of the functional operator;
            None when the functional operator lacks it.
        base_name: name of the functional operator's family without `_copy`, `aten::add`.
    """

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    sources: tuple[tuple[int, str] | None, ...]
    base_name: str

    @property
    def full_name(self) -> str:
        """Name and overload as kernels register them: `aten::add.out`."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def is_official(self) -> bool:
        """Whether the official runtime has a kernel for it."""
        return self.full_name in official_operators.ALL

    @property
    def output_count(self) -> int:
        """Number of `out` arguments (a list of outputs is one)."""
        return sum(argument.is_out for argument in self.arguments)

    def bind(self, node: fx.Node) -> list[Any]:
        """The node's arguments in the order of the out variant; outputs are None."""
        positional, keywords = node.args, node.kwargs
        values: list[Any] = []
        for argument, source in zip(self.arguments, self.sources, strict=True):
            if source is None:
                values.append(argument.default)
            elif source[0] < len(positional):
                values.append(positional[source[0]])
            else:
                values.append(keywords.get(source[1], argument.default))
        return values


@dataclass(frozen=True, slots=True)
class PrimOperator:
    """An operator on numbers, which the runtime itself has.

    Attributes:
        name: with namespace.
        overload: may be empty.
        returns: whether its result is the value after its arguments.
    """

    name: str
    overload: str
    returns: bool = True

    @property
    def full_name(self) -> str:
        """Name and overload as kernels register them."""
        return f"{self.name}.{self.overload}" if self.overload else self.name


def scalar_prim(name: str) -> PrimOperator:
    """The operator `executorch_prim::<name>.Scalar`."""
    return PrimOperator(f"executorch_prim::{name}", "Scalar")


COPY_INDEX = PrimOperator("executorch_prim::et_copy_index", "tensor", returns=False)


PRIM_OPERATORS: dict[Callable[..., Any], PrimOperator] = {
    torch.ops.aten.sym_size.int: PrimOperator("aten::sym_size", "int"),
    torch.ops.aten.sym_numel.default: PrimOperator("aten::sym_numel", ""),
    torch.ops.aten._local_scalar_dense.default: PrimOperator("aten::_local_scalar_dense", ""),
    python_operator.add: scalar_prim("add"),
    python_operator.sub: scalar_prim("sub"),
    python_operator.mul: scalar_prim("mul"),
    python_operator.floordiv: scalar_prim("floordiv"),
    python_operator.truediv: scalar_prim("truediv"),
    python_operator.mod: scalar_prim("mod"),
    python_operator.neg: scalar_prim("neg"),
    python_operator.eq: scalar_prim("eq"),
    python_operator.gt: scalar_prim("gt"),
    python_operator.lt: scalar_prim("lt"),
    python_operator.ge: scalar_prim("ge"),
    python_operator.le: scalar_prim("le"),
    math.ceil: scalar_prim("ceil"),
    math.trunc: scalar_prim("trunc"),
    round: scalar_prim("round"),
    torch.sym_float: scalar_prim("sym_float"),
    torch.sym_int: scalar_prim("sym_int"),
    torch.sym_not: scalar_prim("sym_not"),
    torch.sym_ite: scalar_prim("sym_ite"),
    torch.sym_max: scalar_prim("sym_max"),
    torch.sym_min: scalar_prim("sym_min"),
}

_TENSOR, _FALSE = Argument("self", "Tensor"), Argument("non_blocking", "bool", default=False)
_DIM_ORDER = Argument("dim_order", "int", is_list=True)
_OUT = Argument("out", "Tensor", is_out=True)

COPY_INTO = OutVariant(
    "aten::copy_",
    "",
    (Argument("self", "Tensor"), Argument("src", "Tensor"), _FALSE),
    ((0, "self"), (1, "src"), None),
    "aten::copy_",
)
CLONE_DIM_ORDER = OutVariant(
    "dim_order_ops::_clone_dim_order",
    "out",
    (_TENSOR, _FALSE, _DIM_ORDER, _OUT),
    ((0, "self"), None, None, None),
    "aten::clone",
)
_DIM_ORDER_VARIANTS: dict[Any, OutVariant] = {
    torch.ops.aten.clone.default: CLONE_DIM_ORDER,
    torch.ops.aten._to_copy.default: OutVariant(
        "dim_order_ops::_to_dim_order_copy",
        "out",
        (_TENSOR, _FALSE, _DIM_ORDER, _OUT),
        ((0, "self"), None, None, None),
        "aten::_to_copy",
    ),
    torch.ops.aten.empty.memory_format: OutVariant(
        "dim_order_ops::_empty_dim_order",
        "out",
        (Argument("size", "int", is_list=True), _DIM_ORDER, _OUT),
        ((0, "size"), None, None),
        "aten::empty",
    ),
}


@cache
def find_out_variant(operator: torch._ops.OpOverload) -> OutVariant | None:
    """The out variant of a functional operator; of a view, that of its copy. None if there is none.

    A user's own operator needs none in its library: it is called by the name `<name>.out`.

    >>> find_out_variant(torch.ops.aten.add.Tensor).full_name
    'aten::add.out'
    >>> find_out_variant(torch.ops.aten.select.int).full_name
    'aten::select_copy.int_out'
    """
    if operator in _DIM_ORDER_VARIANTS:
        return _DIM_ORDER_VARIANTS[operator]
    schema = operator._schema
    functional = [argument for argument in schema.arguments if not argument.is_out]
    packet = _family(operator)
    matches: list[tuple[tuple[bool, int], OutVariant]] = []
    for overload in packet.overloads():  # type: ignore[no-untyped-call]  # torch's
        candidate = getattr(packet, overload)._schema
        variant = _match(candidate, functional, schema.name)
        if variant is not None and len(candidate.arguments):
            unused = len(functional) + variant.output_count - len(variant.arguments)
            matches.append(((not variant.is_official, abs(unused)), variant))
    if matches:
        return min(matches, key=lambda match: match[0])[1]
    if operator.namespace in _SYNTHESIZED_NAMESPACES or _is_opaque_custom(operator):
        return synthesize(schema)
    variant = synthesize(schema)  # torch has no out variant of what it never calls whole
    is_own = variant.full_name in extended_operators.WHOLE | extended_operators.NAMES
    return variant if is_own else None


def _is_opaque_custom(operator: torch._ops.OpOverload) -> bool:
    """Whether a user's own operator must stay whole, and returns what a kernel can write."""
    results = operator._schema.returns
    types = [str(item.type) for item in results]
    return (
        is_custom_namespace(operator.namespace)
        and not operator._schema.is_mutable
        and not operator._can_decompose()
        and bool(results)
        and all(item.alias_info is None for item in results)
        and (types == ["List[Tensor]"] or set(types) == {"Tensor"})
    )


def is_custom_namespace(namespace: str) -> bool:
    """Whether operators of a namespace are a user's own, who brings the kernels along."""
    return namespace not in _OWN_NAMESPACES


@cache
def scalar_overload(operator: torch._ops.OpOverload) -> torch._ops.OpOverload | None:
    """The overload that takes a number where this one takes a second tensor, if it can be stored.

    >>> scalar_overload(torch.ops.aten.mul.Tensor)
    <OpOverload(op='aten.mul', overload='Scalar')>
    """
    names = {"Tensor": "Scalar", "Tensor_mode": "Scalar_mode", "Tensor_Tensor": "Tensor_Scalar"}
    wanted = names.get(operator._schema.overload_name)
    packet = operator.overloadpacket
    if wanted is None or wanted not in packet.overloads():
        return None
    overload: torch._ops.OpOverload = getattr(packet, wanted)
    variant = find_out_variant(overload)
    return overload if variant is not None and variant.is_official else None


def _family(operator: torch._ops.OpOverload) -> torch._ops.OpOverloadPacket:
    """The overloads among which to look: those of `<name>_copy` for a view."""
    returns_view = any(
        result.alias_info is not None and not result.alias_info.is_write
        for result in operator._schema.returns
    )
    if returns_view:
        name = operator._schema.name.split("::")[1] + "_copy"
        copy = getattr(getattr(torch.ops, operator.namespace), name, None)
        if isinstance(copy, torch._ops.OpOverloadPacket):
            return copy
    packet: torch._ops.OpOverloadPacket = operator.overloadpacket
    return packet


def _match(
    schema: torch._C.FunctionSchema, functional: Iterable[Any], name: str
) -> OutVariant | None:
    """The out variant that `schema` is of an operator with `functional` arguments, or None."""
    outputs = [argument for argument in schema.arguments if argument.is_out]
    if not outputs:
        return None
    places = {argument.name: (i, argument) for i, argument in enumerate(functional)}
    sources: list[tuple[int, str] | None] = []
    for argument in schema.arguments:
        if argument.is_out:
            sources.append(None)
            continue
        place = places.pop(argument.name, None)
        if place is None:
            if not argument.has_default_value():
                return None
            sources.append(None)
        elif str(place[1].real_type) != str(argument.real_type):
            return None
        else:
            sources.append((place[0], argument.name))
    if not places.keys() <= _LEFT_TO_OUTPUT:
        return None
    arguments = tuple(describe_argument(argument) for argument in schema.arguments)
    base_name = name.removesuffix("_copy")
    return OutVariant(schema.name, schema.overload_name, arguments, tuple(sources), base_name)


def synthesize(schema: torch._C.FunctionSchema) -> OutVariant:
    """The out variant by convention, for libraries that register functional operators only.

    What an operator writes beside its results it writes in place; one that only writes keeps its
    name when it says so (`mylib::scale_`).
    """
    # The official kernels write "Tensor" where torch's schemas have "tensor".
    overload_name = schema.overload_name.replace("tensor", "Tensor")
    results = [result for result in schema.returns if result.alias_info is None]
    if results or not schema.name.endswith("_"):
        overload_name = f"{overload_name}_out" if overload_name else "out"
    arguments = [describe_argument(argument) for argument in schema.arguments]
    sources: list[tuple[int, str] | None] = [
        (index, argument.name) for index, argument in enumerate(arguments)
    ]
    for index, result in enumerate(results):
        name = "out" if len(results) == 1 else f"out{index}"
        is_list = str(result.type) == "List[Tensor]"
        arguments.append(Argument(name, "Tensor", is_list=is_list, is_out=True))
        sources.append(None)
    return OutVariant(schema.name, overload_name, tuple(arguments), tuple(sources), schema.name)


def describe_argument(argument: Any) -> Argument:
    """A schema argument of torch as an `Argument`."""
    text = str(argument.real_type)
    if text.startswith("Optional["):
        text = text[9:-1]
    is_list = text.startswith("List[")
    has_optional_items = text.startswith("List[Optional[")
    for prefix in ("List[", "Optional["):
        if text.startswith(prefix):
            text = text[len(prefix) : -1]
    base = {"SymInt": "int", "Scalar": "number"}.get(text, text)
    return Argument(
        argument.name,
        base,
        is_list,
        has_optional_items,
        argument.N,
        argument.default_value,
        argument.is_out,
    )
