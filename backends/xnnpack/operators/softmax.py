"""Softmax over one dimension."""

import torch
from torch import fx

from etlab.backends.xnnpack import moves
from etlab.backends.xnnpack.operators.registry import Context, rule
from etlab.backends.xnnpack.steps import Layout, Tensor
from etlab.backends.xnnpack.translate import Translation

aten = torch.ops.aten


def _why_not(node: fx.Node, context: Context) -> str | None:
    if node.args[2]:
        return "it turns float16 into float32 on the way: convert before"
    if node.meta["val"].dim() == 0:
        return "its input has no dimensions"
    return None


@rule(aten._softmax.default, why_not=_why_not)
def _softmax(translation: Translation, node: fx.Node) -> Tensor:
    """XNNPACK's works on the innermost dimension: channels of pictures are that, too."""
    source, result = translation.tensor(node.args[0]), translation.result(node)
    rank, dim = source.rank, int(node.args[1]) % source.rank  # type: ignore[arg-type]
    if dim == rank - 1:
        return translation.unary("Softmax", source, result, layout=Layout.PLAIN)
    if dim == 1 and rank == 4:
        return translation.unary("Softmax", source, result, layout=Layout.CHANNELS_LAST)
    order = list(range(rank))
    order[dim], order[-1] = order[-1], order[dim]
    moved = moves.permute(translation, source, order)
    output = translation.like(moved, moved.sizes)
    return moves.permute(
        translation, translation.unary("Softmax", moved, output, layout=Layout.PLAIN), order
    )
