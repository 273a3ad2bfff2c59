"""Drop calls that return their input."""

from typing import Any

import torch
from torch import fx

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import replace
from etlab.exir.passes.base import Pass, PassResult

aten = torch.ops.aten

# These compute nothing new when size and dtype of the result are those of the input.
_NEUTRAL_IF_ALIKE = {
    aten.clone.default,
    aten.alias_copy.default,
    aten.detach_copy.default,
    aten.lift_fresh_copy.default,
    aten._to_copy.default,
    aten.view_copy.default,
    aten.expand_copy.default,
    aten.repeat.default,
    aten.squeeze_copy.dims,
    aten.squeeze_copy.dim,
    aten.slice_copy.Tensor,
}


class RemoveNoops(Pass):
    """Erase copies, casts to the same dtype, views of the same size, paddings by nothing, x * 1.

    Before: `a = clone(x + 1); return relu(a)`
    After: `return relu(x + 1)`

    A copy that makes an output a tensor of its own (of an input, of a constant, of another output)
    stays.
    """

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        changed = False
        for node in graph.graph.nodes:
            if node.op == "call_function" and _is_noop(node) and not _makes_an_output(node):
                replace(node, node.args[0])
                changed = True
        return PassResult(graph, changed)


def _is_noop(node: fx.Node) -> bool:
    target, args = node.target, node.args
    if target in _NEUTRAL_IF_ALIKE:
        return _is_like_input(node)
    if target in (aten.mul.Scalar, aten.div.Scalar):
        return bool(args[1] == 1) and _is_like_input(node)
    if target is aten.permute_copy.default:
        order: Any = args[1]
        return list(order) == list(range(len(order)))
    if target is aten.constant_pad_nd.default:
        padding: Any = args[1]
        return not any(padding) and _is_like_input(node)
    return False


def _is_like_input(node: fx.Node) -> bool:
    source = node.args[0]
    if not isinstance(source, fx.Node):
        return False
    old, new = source.meta["val"], node.meta["val"]
    return (
        old.dtype == new.dtype
        and _sizes(old) == _sizes(new)
        and (old._has_symbolic_sizes_strides or old.is_contiguous() == new.is_contiguous())
    )


def _sizes(val: Any) -> tuple[Any, ...]:
    return tuple(size if isinstance(size, int) else size.node.expr for size in val.shape)


def _makes_an_output(node: fx.Node) -> bool:
    """Whether the copy keeps an output apart from an input, a constant or another output."""
    if not any(user.op == "output" for user in node.users):
        return False
    source = node.args[0]
    assert isinstance(source, fx.Node)
    return source.op == "placeholder" or any(user.op == "output" for user in source.users)
