"""`ExportPass`: a torch.fx pass written as a function of single calls.

    class SubtractInstead(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            if op is torch.ops.aten.add.Tensor:
                op = torch.ops.aten.sub.Tensor
            return super().call_operator(op, args, kwargs, meta)

The graph is written anew, call by call; meta values are computed for calls that changed only.
"""

import operator
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.utils import _pytree as pytree

from etlab.errors import InvalidArgumentError
from etlab.exir.graph import infer_val
from etlab.exir.partition.delegate import executorch_call_delegate

__all__ = ["ExportPass", "NodeMetadata", "PassBase", "PassResult", "ProxyValue"]


class NodeMetadata:
    """The meta entries of a call, which its replacement takes over.

    Attributes:
        data: the entries themselves.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = dict(data)

    def __getitem__(self, key: str) -> Any:
        """An entry."""
        return self.data[key]

    def __setitem__(self, key: str, value: Any) -> None:
        """Set an entry."""
        self.data[key] = value

    def __contains__(self, key: str) -> bool:
        """Whether there is such an entry."""
        return key in self.data

    def copy(self) -> "NodeMetadata":
        """Entries of its own."""
        return NodeMetadata(self.data)


class ProxyValue:
    """A value of the graph that is written.

    Attributes:
        data: its meta value: a FakeTensor, a number, or a tuple.
        node: the node that makes it.
    """

    def __init__(self, data: Any, node: fx.Node) -> None:
        self.data = data
        self.node = node

    def is_tensor(self) -> bool:
        """Whether it is one tensor."""
        return isinstance(self.data, torch.Tensor)

    def to_tensor(self) -> torch.Tensor:
        """The FakeTensor.

        Raises:
            InvalidArgumentError: it is none.
        """
        if not isinstance(self.data, torch.Tensor):
            raise InvalidArgumentError(f"'{self.node.name}' is no tensor but {self.data!r}")
        return self.data


class ExportPass(PassBase):
    """Writes a graph anew; subclasses override what becomes of a kind of node.

    Every method returns what its `super()` returned, another value of the graph (to do without the
    call), or a number. Bodies of control flow are rewritten likewise.
    """

    rewrites_bodies = True

    def __init__(self) -> None:
        self._graph = fx.Graph()
        self._source: fx.Node | None = None
        self._given: tuple[Any, Any] = ((), {})
        self._changed = False

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        """Write the graph anew.

        Returns:
            A new module, and whether a call differs.
        """
        self._graph, self._changed = fx.Graph(), False
        env: dict[fx.Node, Any] = {}

        def value(leaf: Any) -> Any:
            return env[leaf] if isinstance(leaf, fx.Node) else leaf

        for node in graph_module.graph.nodes:
            args = pytree.tree_map(value, node.args)
            kwargs = pytree.tree_map(value, node.kwargs)
            self._source, self._given = node, (tuple(args), dict(kwargs))
            env[node] = self._visit(node, args, kwargs, NodeMetadata(node.meta))
        self._source = None
        return PassResult(fx.GraphModule(graph_module, self._graph), self._changed)

    def _visit(self, node: fx.Node, args: Any, kwargs: Any, meta: NodeMetadata) -> Any:
        target: Any = node.target
        if node.op == "placeholder":
            return self.placeholder(str(target), node.meta.get("val"), meta)
        if node.op == "output":
            return self.output(list(args[0]), meta)
        if node.op == "get_attr":
            return ProxyValue(target, self._graph.node_copy(node))
        if target is operator.getitem:
            return self.call_getitem(args[0], args[1], meta)
        if target is executorch_call_delegate:
            return self.call_delegate(args[0], args[1:], kwargs, meta)
        if isinstance(target, OpOverload):
            return self.call_operator(target, args, kwargs, meta)
        if isinstance(target, HigherOrderOperator):
            return self._write(target, args, kwargs, meta)
        return self.call_sym(target, args, meta)

    def placeholder(self, name: str, arg: Any, meta: NodeMetadata) -> ProxyValue:
        """An input or constant; `arg` is its meta value. There must be as many as before."""
        assert self._source is not None
        node = self._graph.node_copy(self._source)
        node.meta = dict(meta.data)
        return ProxyValue(arg, node)

    def call_operator(
        self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: NodeMetadata
    ) -> Any:
        """A call of an operator."""
        return self._write(op, args, kwargs, meta)

    def call_sym(self, target: Any, args: tuple[Any, ...], meta: NodeMetadata) -> Any:
        """Arithmetic on numbers."""
        return self._write(target, args, {}, meta)

    def call_getitem(self, value: ProxyValue, key: int, meta: NodeMetadata) -> Any:
        """One of several results."""
        return self._write(operator.getitem, (value, key), {}, meta, val=value.data[key])

    def call_delegate(
        self,
        lowered_module: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        meta: NodeMetadata,
    ) -> Any:
        """A call of a delegate."""
        return self._write(executorch_call_delegate, (lowered_module, *args), kwargs, meta)

    def output(self, results: list[Any], meta: NodeMetadata) -> Any:
        """The results; there must be as many as before."""
        nodes = pytree.tree_map(self._node_of, tuple(results))
        node = self._graph.output(nodes)
        node.meta = dict(meta.data)
        return ProxyValue(None, node)

    def _write(
        self, target: Any, args: Any, kwargs: Any, meta: NodeMetadata, *, val: Any = None
    ) -> ProxyValue:
        source = self._source
        new_args = tuple(pytree.tree_map(self._node_of, tuple(args)))
        new_kwargs = pytree.tree_map(self._node_of, dict(kwargs))
        is_same = (
            source is not None
            and target is source.target
            and _same(self._given, (tuple(args), dict(kwargs)))
        )
        name = source.name if is_same and source is not None else None
        node = self._graph.create_node("call_function", target, new_args, new_kwargs, name=name)
        node.meta = dict(meta.data)
        if not is_same:
            self._changed = True
            if val is None:
                val = infer_val(self._graph, target, new_args, new_kwargs)
            node.meta["val"] = val
        elif val is not None:
            node.meta["val"] = val
        return ProxyValue(node.meta.get("val"), node)

    def _node_of(self, value: Any) -> Any:
        if isinstance(value, ProxyValue):
            return value.node
        if not isinstance(value, torch.Tensor):
            return value
        if value.numel() != 1 or value.dim():
            raise InvalidArgumentError(
                f"{type(self).__name__} passes a tensor of size {tuple(value.shape)} to a call; a"
                " graph takes numbers, tensors of size () and values of its own: make it a buffer"
                " of the model"
            )
        scalar = torch.ops.aten.scalar_tensor.default
        kwargs: Any = {"dtype": value.dtype}
        node = self._graph.call_function(scalar, (value.item(),), kwargs)
        node.meta["val"] = infer_val(self._graph, scalar, node.args, kwargs)
        return node


def _same(before: Any, after: Any) -> bool:
    """Whether arguments are the ones that a call had, number for number."""
    old, old_tree = pytree.tree_flatten(before)
    new, new_tree = pytree.tree_flatten(after)
    return old_tree == new_tree and all(
        one is other or (type(one) is type(other) and _is_plain(one) and one == other)
        for one, other in zip(old, new, strict=True)
    )


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str | torch.dtype)
