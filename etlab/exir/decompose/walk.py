"""The one walk from an exported graph to an edge graph: functional, core ATen, with provenance."""

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from etlab.errors import LoweringError
from etlab.exir.decompose.aliases import Aliases, BeyondWalkError, single_views
from etlab.exir.decompose.in_place import lower_in_place
from etlab.exir.decompose.numbers import lower_number
from etlab.exir.decompose.operators import (
    copy_variant,
    functional_variant,
    is_view,
    is_write,
    returns_fresh,
    scalar_variant,
)
from etlab.exir.decompose.paste import paste
from etlab.exir.decompose.plan import Kind, plan, rule_of
from etlab.exir.decompose.symbols import Symbols
from etlab.exir.decompose.templates import SYMBOLIC, Template, map_leaves
from etlab.exir.decompose.unserved import Unsupported
from etlab.exir.decompose.ways_out import WAYS_OUT
from etlab.exir.fakes import contiguous, fake
from etlab.exir.in_place import way_out

aten = torch.ops.aten
NodeFilter = Callable[[fx.Node], bool]
PROVENANCE = ("stack_trace", "nn_module_stack", "torch_fn")


@dataclass(slots=True)
class Shared:
    """What the walks of one program (its graph and the bodies of its control flow) share.

    Attributes:
        mode: the fake mode of the program's meta values.
        keep: operators that a backend wants whole, with the filter that says at which nodes of
            the exported graph (None: at all).
        mutates: whether anything in the program writes a tensor.
        unsupported: filled while walking.
        body_count: number of control-flow bodies so far, for their names.
        templates: recorded decompositions whose sizes are symbols of this program.
    """

    mode: FakeTensorMode
    keep: Mapping[OpOverload, NodeFilter | None]
    mutates: bool
    unsupported: list[Unsupported] = field(default_factory=list)
    body_count: int = 0
    templates: dict[Any, Template] = field(default_factory=dict)


class Walk:
    """Builds one graph. `lower` brings a call over; rules use `emit`, `item`, `fake` and `write`.

    Attributes:
        graph: the new graph.
        submodules: bodies of control flow by the name of their `get_attr` nodes.
        constants: placeholders made on the way, by node, with their tensors.
        tensors: those, and the parameters and buffers of the program.
        aliases: the memory behind the nodes.
        first_user_input: the placeholder before which constants are put.
    """

    def __init__(self, shared: Shared, graph: fx.Graph | None = None) -> None:
        self.shared = shared
        self.graph = fx.Graph() if graph is None else graph
        self.submodules: dict[str, Any] = {}
        self.constants: dict[fx.Node, torch.Tensor] = {}
        self.tensors: dict[fx.Node, torch.Tensor] = {}
        self.aliases = Aliases(self)
        self.symbols = Symbols(self)
        self.provenance: dict[str, Any] = {}
        self._source: fx.Node | None = None
        # Meta values of eager where a layout differs: they tell views from copies.
        self._eager_vals: dict[fx.Node, Any] = {}
        self._items: dict[tuple[fx.Node, int], fx.Node] = {}
        self._split_views: dict[fx.Node, tuple[fx.Node, list[tuple[Any, ...]]]] = {}
        self.first_user_input: fx.Node | None = None

    # ---- making nodes -----------------------------------------------------------------------

    def placeholder(self, name: str, val: Any, *, is_user_input: bool) -> fx.Node:
        """A placeholder, in the order of the calls."""
        node = self.graph.placeholder(name)
        node.meta = {"val": val, **self.provenance}
        if is_user_input and self.first_user_input is None:
            self.first_user_input = node
        return node

    def constant(self, tensor: torch.Tensor, name: str | None = None) -> fx.Node:
        """A placeholder for a tensor found on the way, put before the user's inputs."""
        for node, known in self.constants.items():
            if known is tensor:
                return node
        before = self.first_user_input or next(
            (node for node in self.graph.nodes if node.op != "placeholder"), None
        )
        name = name or f"c_lifted_tensor_{len(self.constants)}"
        if before is None:
            node = self.graph.placeholder(name)
        else:
            with self.graph.inserting_before(before):
                node = self.graph.placeholder(name)
        node.meta = {"val": fake(self.shared.mode, tensor.shape, tensor.dtype)}
        self.constants[node] = tensor
        self.tensors[node] = tensor
        return node

    def raw(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], val: Any) -> fx.Node:
        """A call node exactly as given, except that handles become the nodes of today's values."""
        if self.aliases.has_writes:
            args, kwargs = map_leaves(self.read, args), map_leaves(self.read, kwargs)
        node = self.graph.create_node("call_function", target, args, kwargs)
        node.meta = {"val": val, **self.provenance}
        if isinstance(val, SYMBOLIC):
            self.symbols.define(val, node)
        return node

    def emit(self, target: OpOverload, *args: Any, val: Any = None, **kwargs: Any) -> fx.Node:
        """A call of an operator that may stand in an edge graph; infers `val` when not given."""
        if val is None:
            val = self.infer(target, args, kwargs)
        packed = contiguous(self.shared.mode, val)
        node = self.raw(target, args, kwargs, packed)
        if packed is not val:
            self._eager_vals[node] = val
        return node

    def item(self, node: fx.Node, index: int) -> fx.Node:
        """Result `index` of a node with several."""
        known = self._items.get((node, index))
        if known is not None:
            return known
        made = self.raw(operator.getitem, (node, index), {}, node.meta["val"][index])
        self._items[(node, index)] = made
        if node in self._eager_vals:
            self._eager_vals[made] = self._eager_vals[node][index]
        if node in self._split_views:
            parent, views = self._split_views[node]
            view, *args = views[index]
            self.aliases.add_view(made, parent, view, tuple(args), {})
        return made

    def read(self, value: Any) -> Any:
        """The node that holds the value of a handle now; anything else unchanged."""
        return self.aliases.current(value) if isinstance(value, fx.Node) else value

    def write(self, handle: fx.Node, value: fx.Node) -> fx.Node:
        """Write node `value` into the tensor `handle`, in its dtype and size; returns `handle`."""
        value = self.read(value)
        old, new = handle.meta["val"], value.meta["val"]
        if new.dtype != old.dtype:
            new = self.fake(new.shape, old.dtype)
            value = self.emit(aten._to_copy.default, value, dtype=old.dtype, val=new)
        if tuple(new.shape) != tuple(old.shape):
            sizes = self.size_arguments(handle)
            value = self.emit(aten.expand_copy.default, value, sizes, val=old)
        self.aliases.write(handle, value)
        return handle

    def fake(self, shape: Iterable[Any], dtype: torch.dtype) -> Any:
        """A meta value."""
        return fake(self.shared.mode, tuple(shape), dtype)

    def infer(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The meta value of a call, by running it on fakes (100 us and more)."""

        def value(leaf: Any) -> Any:
            return leaf.meta["val"] if isinstance(leaf, fx.Node) else leaf

        with torch.no_grad(), self.shared.mode:
            return target(*map_leaves(value, args), **map_leaves(value, kwargs))

    def size_arguments(self, tensor: fx.Node) -> list[Any]:
        """The sizes of a tensor as arguments: numbers, or nodes where they are symbolic."""
        return self.symbols.arguments(tensor.meta["val"].shape)

    def eager_val(self, tensor: fx.Node) -> Any:
        """The meta value that the tensor has in eager, with eager's strides."""
        return self._eager_vals.get(tensor, tensor.meta["val"])

    def take_layout(self, tensor: fx.Node, val: Any) -> None:
        """Say that in eager `tensor` lies as `val` does."""
        self._eager_vals[tensor] = val

    def _remember_layout(self, made: Any, val: Any, given: Any) -> None:
        """Keep the strides of eager for what a call made; what it passed on has its own."""
        if isinstance(made, tuple) and isinstance(val, list | tuple):
            for item, item_val in zip(made, val, strict=True):
                self._remember_layout(item, item_val, given)
            return
        is_new = not any(leaf is made for leaf in pytree.tree_leaves(given))
        if is_new and isinstance(made, fx.Node) and isinstance(val, torch.Tensor):
            self.take_layout(made, val)

    # ---- bringing a call over ---------------------------------------------------------------

    def lower(
        self, target: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], val: Any = None
    ) -> Any:
        """Bring one call into the new graph.

        Args:
            target: the operator.
            args: its arguments; tensors are handles.
            kwargs: its keyword arguments.
            val: the meta value of the result, when known.

        Returns:
            The node of the result, or a tuple of nodes, or None for what has no result.
        """
        if target in self.shared.keep and self._is_spared(target):
            return self.keep(target, args, kwargs, val)
        kind = plan(target)
        if kind in (Kind.TEMPLATE, Kind.UNSUPPORTED) and _is_known_now(target, args, kwargs, val):
            return self.constant(target(*args, **kwargs))
        if kind is Kind.KEEP:
            return self.keep(target, args, kwargs, val)
        if kind is Kind.RULE:
            handler: Any = rule_of(target)
            return handler(self, val, *args, **kwargs)
        if kind is Kind.VIEW:
            return self._view(target, args, kwargs, val)
        if kind is Kind.WRITE:
            return self._write(target, args, kwargs, val)
        if kind is Kind.TEMPLATE:
            return paste(self, target, args, kwargs, val)
        return self.refuse(target, args, kwargs, val)

    def _is_spared(self, target: OpOverload) -> bool:
        """Whether a backend's wish to keep `target` whole holds at the node of now."""
        if is_write(target) or is_view(target):
            return False
        wanted_at = self.shared.keep[target]
        return wanted_at is None or self._source is None or wanted_at(self._source)

    def refuse(self, target: Any, args: Any, kwargs: Any, val: Any) -> Any:
        """Remember that `target` cannot be lowered, and go on to find the others."""
        self.shared.unsupported.append(
            Unsupported(
                str(target),
                self.provenance["from_node"],
                self.provenance.get("stack_trace"),
                WAYS_OUT.get(str(target)) or way_out(target),
            )
        )
        return self.raw(target, args, kwargs, contiguous(self.shared.mode, val))

    def keep(self, target: OpOverload, args: Any, kwargs: Any, val: Any) -> Any:
        """A call of an operator that stands in an edge graph, with tensors for numbers."""
        for position, argument in enumerate(target._schema.arguments[: len(args)]):
            if isinstance(args[position], int | float | complex) and str(argument.type) == "Tensor":
                return self._keep_with_number(target, position, args, kwargs, val)
        return self.emit(target, *args, val=val, **kwargs)

    def _keep_with_number(
        self, target: OpOverload, position: int, args: Any, kwargs: Any, val: Any
    ) -> Any:
        """A number where the schema says Tensor: the `Scalar` overload, or a constant."""
        number = args[position]
        is_second = position == 1 and not isinstance(
            number, complex
        )  # files hold no complex number
        scalar = scalar_variant(target) if is_second else None
        if scalar is not None and isinstance(args[0], fx.Node):
            return self.lower(scalar, args, kwargs, val)
        others = [
            leaf.meta["val"]
            for leaf in args
            if isinstance(leaf, fx.Node) and leaf.meta["val"].dtype is not torch.bool
        ] or [torch.empty((), dtype=torch.bool)]
        dtype = torch.result_type(torch.empty((1,), dtype=others[-1].dtype), number)
        made = self.constant(torch.tensor(number, dtype=dtype))
        return self.keep(target, (*args[:position], made, *args[position + 1 :]), kwargs, val)

    def _view(self, target: OpOverload, args: Any, kwargs: Any, val: Any) -> fx.Node:
        copy = copy_variant(target)
        assert copy is not None
        tensor = args[0]
        node = self.emit(copy, *args, val=val, **kwargs)
        if isinstance(node.meta["val"], tuple):
            self._split_views[node] = (tensor, single_views(target, node, args, kwargs))
        else:
            self.aliases.add_view(node, tensor, target, args[1:], kwargs)
        return node

    def _write(self, target: OpOverload, args: Any, kwargs: Any, val: Any) -> Any:
        functional = functional_variant(target)
        written = [
            (position, argument)
            for position, argument in enumerate(target._schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        if functional is None or len(written) != 1 or returns_fresh(target):
            return lower_in_place(self, target, args, kwargs, val)
        if torch.Tag.inplace_view in target.tags:
            # Changes no element: what follows refers to the result, which is a view.
            return self.lower(functional, args, kwargs, val)
        position, argument = written[0]
        if argument.is_out:
            kwargs = dict(kwargs)
            handle = kwargs.pop(argument.name)
        else:
            handle = args[position]
        # In place, a result of another dtype is cast; the functional twin returns it as it is.
        wanted = handle.meta["val"].dtype
        leaves = pytree.tree_leaves((args, kwargs))
        tensors = [leaf.meta["val"] for leaf in leaves if isinstance(leaf, fx.Node)]
        is_uniform = all(getattr(tensor, "dtype", wanted) == wanted for tensor in tensors)
        value = self.lower(functional, args, kwargs, val if is_uniform else None)
        return self.write(handle, value)

    # ---- walking ----------------------------------------------------------------------------

    def walk(self, nodes: Iterable[fx.Node], env: dict[fx.Node, Any], owner: Any) -> Any:
        """Bring over everything but placeholders; `env` maps old nodes to handles.

        Returns:
            The arguments of the output node, in handles.
        """
        from etlab.exir.decompose.control_flow import lower_higher_order

        def handle(leaf: Any) -> Any:
            return env[leaf] if isinstance(leaf, fx.Node) else leaf

        for position, node in enumerate(nodes):
            if node.op == "placeholder":
                continue
            if node.op == "output":
                return map_leaves(handle, tuple(node.args))
            meta = node.meta
            if node.op == "get_attr":
                env[node] = self._attribute(owner, str(node.target))
                continue
            self.provenance = {key: meta[key] for key in PROVENANCE if key in meta}
            self.provenance["from_node"] = node.name
            self.provenance["debug_handle"] = position
            self._source = node
            target: Any = node.target
            args, kwargs = map_leaves(handle, tuple(node.args)), map_leaves(handle, node.kwargs)
            val = meta.get("val")
            try:
                if isinstance(target, OpOverload):
                    env[node] = self.lower(target, args, kwargs, val)
                    if self.shared.mutates:
                        self._remember_layout(env[node], val, (args, kwargs))
                elif target is operator.getitem:
                    container, index = args
                    made = container[index] if isinstance(container, tuple) else None
                    env[node] = self.item(container, index) if made is None else made
                elif isinstance(target, HigherOrderOperator):
                    env[node] = lower_higher_order(self, target, args, kwargs, val)
                else:
                    env[node] = lower_number(self, target, args, val)
            except (LoweringError, BeyondWalkError):
                raise
            except Exception as error:
                raise LoweringError(
                    f"{target} (node '{node.name}') could not be lowered: {error}"
                    f"\n{meta.get('stack_trace') or ''}"
                ) from error
        raise LoweringError("the exported graph has no output node")

    def _attribute(self, owner: Any, name: str) -> Any:
        value = owner
        for part in name.split("."):
            value = getattr(value, part)
        return self.constant(value) if isinstance(value, torch.Tensor) else value


def _is_known_now(target: OpOverload, args: Any, kwargs: Any, val: Any) -> bool:
    """Whether a call depends on nothing but numbers and gives one tensor."""
    leaves = pytree.tree_leaves((args, kwargs))
    return (
        isinstance(val, torch.Tensor)
        and not any(isinstance(leaf, fx.Node) for leaf in leaves)
        and torch.Tag.nondeterministic_seeded not in target.tags
        and not val._has_symbolic_sizes_strides
    )
