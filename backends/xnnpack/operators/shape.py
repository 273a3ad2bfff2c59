"""Operators that move elements: reshapes, permutations, slices, borders, concatenation."""

import sys
from typing import Any

import torch
from torch import fx

from etlab.backends.xnnpack import moves
from etlab.backends.xnnpack.operators.registry import Context, argument, rule
from etlab.backends.xnnpack.steps import Tensor
from etlab.backends.xnnpack.translate import Translation, symbols

aten = torch.ops.aten


def _why_not_reshape(node: fx.Node, context: Context) -> str | None:
    sizes = node.meta["val"].shape
    if symbols(sizes) > 1:
        return (
            f"several sizes of its result vary ({', '.join(map(str, sizes))}), XNNPACK infers one:"
            " fix the others"
        )
    return None


@rule(
    aten.view_copy.default,
    aten.unsqueeze_copy.default,
    aten.squeeze_copy.dims,
    aten.squeeze_copy.dim,
    aten.squeeze_copy.default,
    why_not=_why_not_reshape,
    moves_only=True,
)
def _reshape(translation: Translation, node: fx.Node) -> Tensor:
    return moves.reshape(
        translation, translation.tensor(node.args[0]), tuple(node.meta["val"].shape)
    )


@rule(aten.permute_copy.default, moves_only=True)
def _permute(translation: Translation, node: fx.Node) -> Tensor:
    source = translation.tensor(node.args[0])
    dims: Any = node.args[1]
    return moves.permute(translation, source, [dim % source.rank for dim in dims])


@rule(aten.transpose_copy.int, moves_only=True)
def _transpose(translation: Translation, node: fx.Node) -> Tensor:
    source = translation.tensor(node.args[0])
    first, second = (int(dim) % source.rank for dim in node.args[1:3])  # type: ignore[arg-type]
    order = list(range(source.rank))
    order[first], order[second] = second, first
    return moves.permute(translation, source, order)


@rule(aten.t_copy.default, moves_only=True)
def _transpose_matrix(translation: Translation, node: fx.Node) -> Tensor:
    source = translation.tensor(node.args[0])
    return moves.permute(translation, source, range(source.rank)[::-1])


def _slice_range(node: fx.Node) -> tuple[int, Any, Any, Any]:
    """Dimension, beginning and end of a slice, and the size of the dimension."""
    shape = node.all_input_nodes[0].meta["val"].shape
    dim = argument(node, 1, "dim", 0) % len(shape)
    begin, end = argument(node, 2, "start"), argument(node, 3, "end")
    return dim, 0 if begin is None else begin, sys.maxsize if end is None else end, shape[dim]


def _why_not_slice(node: fx.Node, context: Context) -> str | None:
    dim, begin, end, size = _slice_range(node)
    if argument(node, 4, "step", 1) != 1:
        return f"it takes every {argument(node, 4, 'step')}th element, XNNPACK takes neighbours"
    if isinstance(size, int) and isinstance(begin, int) and isinstance(end, int):
        return None
    return f"it slices dimension {dim}, whose size varies: fix the size"


@rule(aten.slice_copy.Tensor, why_not=_why_not_slice, moves_only=True)
def _slice(translation: Translation, node: fx.Node) -> Tensor:
    dim, begin, _, size = _slice_range(node)
    begin = min(max(begin + size if begin < 0 else begin, 0), size)
    source = translation.tensor(node.args[0])
    return moves.slice(translation, source, dim, begin, node.meta["val"].shape[dim])


def _why_not_select(node: fx.Node, context: Context) -> str | None:
    shape, index = node.all_input_nodes[0].meta["val"].shape, node.args[2]
    if not isinstance(index, int):
        return "its index is known only at run time"
    if index < 0 and not isinstance(shape[node.args[1]], int):
        return "it counts from the end of a dimension whose size varies"
    return _why_not_reshape(node, context)


@rule(aten.select_copy.int, why_not=_why_not_select, moves_only=True)
def _select(translation: Translation, node: fx.Node) -> Tensor:
    source = translation.tensor(node.args[0])
    dim, index = int(node.args[1]) % source.rank, int(node.args[2])  # type: ignore[arg-type]
    row = moves.slice(
        translation, source, dim, index % source.sizes[dim] if index < 0 else index, 1
    )
    return moves.reshape(translation, row, tuple(node.meta["val"].shape))


def _why_not_split(node: fx.Node, context: Context) -> str | None:
    source = node.all_input_nodes[0].meta["val"]
    dim = argument(node, 2, "dim", 0)
    if not isinstance(source.shape[dim], int):
        return f"it splits dimension {dim}, whose size varies: fix it"
    return None


@rule(
    aten.split_copy.Tensor,
    aten.split_with_sizes_copy.default,
    why_not=_why_not_split,
    moves_only=True,
)
def _split(translation: Translation, node: fx.Node) -> tuple[Tensor, ...]:
    source = translation.tensor(node.args[0])
    dim = argument(node, 2, "dim", 0) % source.rank
    parts, begin = [], 0
    for val in node.meta["val"]:
        parts.append(moves.slice(translation, source, dim, begin, val.shape[dim]))
        begin += val.shape[dim]
    return tuple(parts)


def _why_not_unbind(node: fx.Node, context: Context) -> str | None:
    if symbols(node.meta["val"][0].shape) > 1:
        return "several sizes of its results vary, XNNPACK infers one: fix the others"
    return None


@rule(aten.unbind_copy.int, why_not=_why_not_unbind, moves_only=True)
def _unbind(translation: Translation, node: fx.Node) -> tuple[Tensor, ...]:
    source = translation.tensor(node.args[0])
    dim = argument(node, 1, "dim", 0) % source.rank
    rows = [moves.slice(translation, source, dim, i, 1) for i in range(len(node.meta["val"]))]
    return tuple(
        moves.reshape(translation, row, tuple(val.shape))
        for row, val in zip(rows, node.meta["val"], strict=True)
    )


def _why_not_pad(node: fx.Node, context: Context) -> str | None:
    amounts: Any = node.args[1]
    if not all(isinstance(amount, int) for amount in amounts):
        return "its amounts are known only at run time"
    if any(amount < 0 for amount in amounts):
        return f"it crops ({list(amounts)}), XNNPACK only pads: slice instead"
    return None


@rule(aten.constant_pad_nd.default, why_not=_why_not_pad, moves_only=True)
def _pad(translation: Translation, node: fx.Node) -> Tensor:
    source = translation.tensor(node.args[0])
    amounts: Any = node.args[1]
    around = [(0, 0)] * source.rank
    for place in range(len(amounts) // 2):  # the last dimension comes first
        around[source.rank - 1 - place] = (amounts[2 * place], amounts[2 * place + 1])
    return moves.pad(translation, source, around, float(argument(node, 2, "value", 0.0)))


@rule(aten.cat.default, moves_only=True)
def _cat(translation: Translation, node: fx.Node) -> Tensor:
    tensors: Any = node.args[0]
    sizes = tuple(node.meta["val"].shape)
    parts = [translation.tensor(tensor) for tensor in tensors]
    return moves.concatenate(translation, parts, argument(node, 1, "dim", 0) % len(sizes), sizes)


@rule(aten.stack.default, why_not=_why_not_reshape, moves_only=True)
def _stack(translation: Translation, node: fx.Node) -> Tensor:
    tensors: Any = node.args[0]
    sizes = tuple(node.meta["val"].shape)
    dim = argument(node, 1, "dim", 0) % len(sizes)
    row = (*sizes[:dim], 1, *sizes[dim + 1 :])
    parts = [moves.reshape(translation, translation.tensor(tensor), row) for tensor in tensors]
    return moves.concatenate(translation, parts, dim, sizes)
