"""A pass: the masks of attention become what a delegate can add to scores."""

from typing import Any

import torch
from torch import fx

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import NewConstants, call_before, constant_placeholders, fake_like
from etlab.exir.passes.base import Pass, PassResult

aten = torch.ops.aten

# Hides a score: far below all others, but finite, so that a softmax over hidden scores only is a
# number.
HIDDEN = -1e30


class PrepareAttentionMasks(Pass):
    """Turn masks into terms of a sum, and drop those that hide nothing.

    Before: `attention(q, k, v, mask)`
    After: `attention(q, k, v, where(mask, 0, -1e30)) * any(mask, -1)`

    A row that is hidden entirely gives zeros, as in eager: its weights are those of no score, and
    the product removes them. What masks share is computed once.
    """

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        attention = [
            node
            for node in graph.graph.nodes
            if node.target is aten.scaled_dot_product_attention.default and len(node.args) > 3
        ]
        if not attention:
            return PassResult(graph, False)
        masks = _Masks(graph)
        changed = False
        for node in attention:
            changed = masks.prepare(node) or changed
        masks.added.finish()
        return PassResult(graph, changed)


# A term for the scores, and a factor for the result; None where there is nothing to do.
_Prepared = tuple[fx.Node | None, fx.Node | None]


def _hidden(dtype: torch.dtype) -> float:
    return max(HIDDEN, torch.finfo(dtype).min / 4)


class _Masks:
    def __init__(self, edge: EdgeGraph) -> None:
        self.added = NewConstants(edge)
        self._constants = constant_placeholders(edge)
        self._numbers: dict[tuple[float, torch.dtype], fx.Node] = {}
        self._done: dict[tuple[fx.Node, torch.dtype], _Prepared] = {}

    def prepare(self, node: fx.Node) -> bool:
        """Change one attention."""
        given: Any = node.args[3]
        mask = given
        while isinstance(mask, fx.Node) and mask.target is aten.expand_copy.default:
            mask = mask.args[0]  # attention broadcasts by itself
        if mask is None:
            return False
        dtype = node.meta["val"].dtype
        if (mask, dtype) not in self._done:
            make = self._constant if mask in self._constants else self._sum_and_rows
            self._done[mask, dtype] = make(node, mask, dtype)
        bias, rows = self._done[mask, dtype]
        node.args = (*node.args[:3], bias, *node.args[4:])
        if rows is None:
            return bias is not given
        users = list(node.users)
        with node.graph.inserting_after(node):
            product = node.graph.call_function(aten.mul.Tensor, (node, rows))
        product.meta = dict(node.meta)
        for user in users:
            user.replace_input_with(node, product)
        return True

    def _constant(self, node: fx.Node, mask: fx.Node, dtype: torch.dtype) -> _Prepared:
        """A constant mask as a term; with rows where one is hidden entirely."""
        value = self._constants[mask]
        if value.dtype is torch.bool:
            value = torch.zeros(value.shape).masked_fill(~value, float("-inf"))
        if bool((value == 0).all()):
            return None, None
        seen = (value != float("-inf")).any(-1, keepdim=True)
        rows = None if bool(seen.all()) else self.added.add("rows_seen", seen.to(dtype))
        term = value.clamp(min=_hidden(dtype)).to(dtype)
        is_same = value is self._constants[mask] and torch.equal(term, value)
        return mask if is_same else self.added.add(f"{mask.name}_term", term), rows

    def _sum_and_rows(self, node: fx.Node, mask: fx.Node, dtype: torch.dtype) -> _Prepared:
        """The mask as a term, and 1 for rows that see something, else 0."""
        hidden = _hidden(dtype)
        shape = mask.meta["val"].shape
        row = fake_like(node, (*shape[:-1], 1), torch.bool)
        if mask.meta["val"].dtype is torch.bool:
            zero, low = self._number(0.0, dtype), self._number(hidden, dtype)
            term = fake_like(node, shape, dtype)
            bias = call_before(node, aten.where.self, (mask, zero, low), val=term)
            seen = mask
        else:
            bias = call_before(
                node, aten.clamp.default, (mask, hidden), val=fake_like(node, shape, dtype)
            )
            seen = call_before(
                node,
                aten.gt.Scalar,
                (mask, float("-inf")),
                val=fake_like(node, shape, torch.bool),
            )
        any_seen = call_before(node, aten.any.dim, (seen, -1, True), val=row)
        rows = call_before(
            node,
            aten._to_copy.default,
            (any_seen,),
            {"dtype": dtype},
            val=fake_like(node, row.shape, dtype),
        )
        return bias, rows

    def _number(self, value: float, dtype: torch.dtype) -> fx.Node:
        if (value, dtype) not in self._numbers:
            name = "nothing_hidden" if value == 0 else "hidden"
            self._numbers[value, dtype] = self.added.add(name, torch.tensor(value, dtype=dtype))
        return self._numbers[value, dtype]
