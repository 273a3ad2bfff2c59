"""Take scaled dot product attention apart into matrix products and a softmax."""

import math
import operator
from typing import Any

import torch
from torch import fx

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import NewConstants, call_before, fake_like, replace
from etlab.exir.passes.base import Pass, PassResult

aten = torch.ops.aten


class ExpandAttention(Pass):
    """Replace `scaled_dot_product_attention` by operators that every runtime has.

    Before: `scaled_dot_product_attention(q, k, v, mask)`
    After: `bmm(softmax(bmm(q * scale, k.T) + mask), v)` on matrices with the batch in one dimension

    Rows that a mask hides completely give zeros, as in eager. Half-precision inputs are computed
    in float, as eager's kernel does.

    Args:
        keeps_served: leave the calls that etlab's runtime has a kernel for: all without dropout.
    """

    def __init__(self, *, keeps_served: bool = False) -> None:
        self.keeps_served = keeps_served

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        constants = NewConstants(graph)
        causal: dict[tuple[int, int], fx.Node] = {}
        nodes = [
            node
            for node in graph.graph.nodes
            if node.target is aten.scaled_dot_product_attention.default
            and not (self.keeps_served and _bound(node).get("dropout_p", 0.0) == 0.0)
        ]
        for node in nodes:
            replace(node, _Expansion(graph, node, constants, causal).run())
        constants.finish()
        for body in graph.submodules.values():
            if isinstance(body, EdgeGraph):
                self.run(body)
        return PassResult(graph, bool(nodes))


class _Expansion:
    """One call on its way."""

    def __init__(
        self,
        edge: EdgeGraph,
        node: fx.Node,
        constants: NewConstants,
        causal: dict[tuple[int, int], fx.Node],
    ) -> None:
        self.edge, self.node, self.constants, self.causal = edge, node, constants, causal
        bound = _bound(node)
        self.mask: Any = bound.get("attn_mask")
        self.dropout: float = bound.get("dropout_p", 0.0)
        self.is_causal: bool = bound.get("is_causal", False)
        self.scale: float | None = bound.get("scale")
        self.query: fx.Node = bound["query"]
        self.key: fx.Node = bound["key"]
        self.value: fx.Node = bound["value"]

    def call(self, target: Any, *args: Any, val: Any = None, **kwargs: Any) -> fx.Node:
        return call_before(self.node, target, args, kwargs, val=val)

    def run(self) -> fx.Node:
        result: Any = self.node.meta["val"]
        dtype = self.query.meta["val"].dtype
        wide = dtype if dtype in (torch.float32, torch.float64) else torch.float32
        query, key, value = (self.cast(t, wide) for t in (self.query, self.key, self.value))
        batch = self.sizes(self.query)[:-2]
        batch_values = tuple(self.query.meta["val"].shape[:-2])
        if len(self.query.meta["val"].shape) == len(result.shape):
            batch_values = tuple(result.shape[:-2])
        key, value = (self.with_batch(t, batch, batch_values) for t in (key, value))
        _length, width = query.meta["val"].shape[-2:]
        scale = 1.0 / math.sqrt(width) if self.scale is None else self.scale
        query = self.call(aten.mul.Scalar, query, scale, val=query.meta["val"])
        turned = self.call(aten.transpose_copy.int, self.flat(key), 1, 2)
        scores = self.call(aten.bmm.default, self.flat(query), turned)
        scores = self.unflat(scores, batch, batch_values)
        weights = self.softmax(scores)
        if self.dropout > 0.0:
            pair = (weights.meta["val"], fake_like(weights, weights.meta["val"].shape, torch.bool))
            node = self.call(aten.native_dropout.default, weights, self.dropout, True, val=pair)
            weights = self.call(operator.getitem, node, 0, val=pair[0])
        mixed = self.call(aten.bmm.default, self.flat(weights), self.flat(value))
        mixed = self.unflat(mixed, batch, batch_values)
        return self.cast(mixed, result.dtype)

    def softmax(self, scores: fx.Node) -> fx.Node:
        val = scores.meta["val"]
        lowest = torch.finfo(val.dtype).min
        mask = self.mask
        if self.is_causal:
            mask = self.causal_mask(scores)
        if mask is None:
            return self.call(aten._softmax.default, scores, -1, False, val=val)
        if mask.meta["val"].dtype is not torch.bool:
            mask = self.cast(mask, val.dtype)
            scores = self.call(aten.add.Tensor, scores, mask, val=val)
            weights = self.call(aten._softmax.default, scores, -1, False, val=val)
            top = self.call(aten.amax.default, scores, [-1], True)
            hidden = self.call(aten.eq.Scalar, top, -math.inf)
            return self.call(aten.where.self, hidden, self.number(0.0, val), weights, val=val)
        scores = self.call(aten.where.self, mask, scores, self.number(lowest, val), val=val)
        weights = self.call(aten._softmax.default, scores, -1, False, val=val)
        if self.is_causal:
            return weights
        return self.call(aten.where.self, mask, weights, self.number(0.0, val), val=val)

    def number(self, value: float, like: torch.Tensor) -> fx.Node:
        return self.constants.add("attention_fill", torch.tensor(value, dtype=like.dtype))

    def causal_mask(self, scores: fx.Node) -> fx.Node:
        """(length, keys), True where a query may look; every row has its first key."""
        rows, columns = scores.meta["val"].shape[-2:]
        if isinstance(rows, int) and isinstance(columns, int):
            known = self.causal.get((rows, columns))
            if known is None:
                mask = torch.ones(rows, columns, dtype=torch.bool).tril()
                known = self.constants.add("causal_mask", mask)
                self.causal[(rows, columns)] = known
            return known
        row_count, column_count = self.sizes(scores)[-2:]
        index = fake_like(scores, (rows,), torch.int64)
        row = self.call(aten.arange.start_step, 0, row_count, 1, dtype=torch.int64, val=index)
        index = fake_like(scores, (columns,), torch.int64)
        column = self.call(aten.arange.start_step, 0, column_count, 1, dtype=torch.int64, val=index)
        standing = fake_like(scores, (rows, 1), torch.int64)
        row = self.call(aten.unsqueeze_copy.default, row, 1, val=standing)
        return self.call(
            aten.ge.Tensor, row, column, val=fake_like(scores, (rows, columns), torch.bool)
        )

    def cast(self, tensor: fx.Node, dtype: torch.dtype) -> fx.Node:
        val = tensor.meta["val"]
        if val.dtype == dtype:
            return tensor
        new = fake_like(tensor, val.shape, dtype)
        return self.call(aten._to_copy.default, tensor, dtype=dtype, val=new)

    def sizes(self, tensor: fx.Node) -> list[Any]:
        """Sizes as arguments; symbolic ones are asked of the tensor."""
        return [
            size if isinstance(size, int) else self.call(aten.sym_size.int, tensor, dim, val=size)
            for dim, size in enumerate(tensor.meta["val"].shape)
        ]

    def product(self, sizes: list[Any], values: Any) -> tuple[Any, Any]:
        """Product of sizes as argument and as value."""
        argument: Any = 1
        value: Any = 1
        for size, known in zip(sizes, values, strict=True):
            value = value * known
            if isinstance(argument, int) and isinstance(size, int):
                argument *= size
            else:
                argument = self.call(operator.mul, argument, size, val=value)
        return argument, value

    def with_batch(self, tensor: fx.Node, batch: list[Any], values: tuple[Any, ...]) -> fx.Node:
        """Keys or values with the query's batch dimensions: heads repeated, others expanded."""
        shape = tuple(tensor.meta["val"].shape)
        if shape[:-2] == values:
            return tensor
        own = self.sizes(tensor)
        heads = values[-1] if values else 1
        if len(shape) == len(values) + 2 and shape[-3] not in (1, heads):
            repeats = heads // shape[-3]
            outer = list(shape[:-2])
            apart = fake_like(tensor, (*outer, 1, *shape[-2:]))
            node = self.call(aten.unsqueeze_copy.default, tensor, -3, val=apart)
            wide = fake_like(tensor, (*outer, repeats, *shape[-2:]))
            sizes = [*own[:-2], repeats, *own[-2:]]
            node = self.call(aten.expand_copy.default, node, sizes, val=wide)
            shape = (*shape[:-3], heads, *shape[-2:])
            own = [*own[:-3], heads, *own[-2:]]
            tensor = self.call(aten.view_copy.default, node, own, val=fake_like(node, shape))
            if shape[:-2] == values:
                return tensor
        new = fake_like(tensor, (*values, *shape[-2:]))
        return self.call(aten.expand_copy.default, tensor, [*batch, *own[-2:]], val=new)

    def flat(self, tensor: fx.Node) -> fx.Node:
        """(batch, rows, columns): all batch dimensions in one."""
        val = tensor.meta["val"]
        if val.dim() == 3:
            return tensor
        own = self.sizes(tensor)
        count, value = self.product(own[:-2], val.shape[:-2])
        new = fake_like(tensor, (value, *val.shape[-2:]))
        return self.call(aten.view_copy.default, tensor, [count, *own[-2:]], val=new)

    def unflat(self, tensor: fx.Node, batch: list[Any], values: tuple[Any, ...]) -> fx.Node:
        """The inverse of `flat`."""
        if len(values) == 1:
            return tensor
        new = fake_like(tensor, (*values, *tensor.meta["val"].shape[-2:]))
        own = self.sizes(tensor)
        return self.call(aten.view_copy.default, tensor, [*batch, *own[-2:]], val=new)


_PARAMETERS = (
    "query",
    "key",
    "value",
    "attn_mask",
    "dropout_p",
    "is_causal",
)


def _bound(node: fx.Node) -> dict[str, Any]:
    """A call's arguments by name."""
    return dict(zip(_PARAMETERS, node.args, strict=False)) | dict(node.kwargs)
