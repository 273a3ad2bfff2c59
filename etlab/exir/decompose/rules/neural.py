"""Layers: convolution, normalization, dropout, pooling."""

from typing import Any

import torch
from torch import fx

from etlab.exir.decompose.plan import rule
from etlab.exir.decompose.walk import Walk

aten = torch.ops.aten


def _as_list(value: Any, rank: int) -> list[Any]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    return values * rank if len(values) == 1 else values


def _convolution(
    walk: Walk,
    val: Any,
    tensors: tuple[Any, Any, Any],
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> fx.Node:
    tensor, weight, bias = tensors
    rank = weight.meta["val"].dim() - 2
    arguments = (
        weight,
        bias,
        _as_list(stride, rank),
        _as_list(padding, rank),
        _as_list(dilation, rank),
        transposed,
        _as_list(output_padding, rank),
        groups,
    )
    if tensor.meta["val"].dim() == rank + 2:
        return walk.emit(aten.convolution.default, tensor, *arguments, val=val)
    # Without a batch dimension: add one, drop it after.
    batched = walk.lower(aten.unsqueeze.default, (tensor, 0), {})
    batched_val = None if val is None else walk.fake((1, *val.shape), val.dtype)
    result = walk.emit(aten.convolution.default, batched, *arguments, val=batched_val)
    return walk.lower(aten.squeeze.dims, (result, [0]), {})  # type: ignore[no-any-return]


@rule("aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default")
def convolution(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    weight: fx.Node,
    bias: fx.Node | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> fx.Node:
    return _convolution(
        walk, val, (tensor, weight, bias), stride, padding, dilation, False, 0, groups
    )


@rule("aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")
def transposed_convolution(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    weight: fx.Node,
    bias: fx.Node | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> fx.Node:
    return _convolution(
        walk, val, (tensor, weight, bias), stride, padding, dilation, True, output_padding, groups
    )


@rule("aten.batch_norm.default")
def batch_norm(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    weight: fx.Node | None,
    bias: fx.Node | None,
    running_mean: fx.Node | None,
    running_var: fx.Node | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> fx.Node:
    shape, dtype = tensor.meta["val"].shape, tensor.meta["val"].dtype
    val = val if val is not None else walk.fake(shape, dtype)
    if not training:
        empty = walk.fake((0,), dtype)
        node = walk.emit(
            aten._native_batch_norm_legit_no_training.default,
            tensor,
            weight,
            bias,
            running_mean,
            running_var,
            momentum,
            eps,
            val=(val, empty, empty),
        )
        return walk.item(node, 0)
    statistics = walk.fake((shape[1],), dtype)
    node = walk.emit(
        aten._native_batch_norm_legit.no_stats,
        tensor,
        weight,
        bias,
        True,
        momentum,
        eps,
        val=(val, statistics, statistics),
    )
    dims = [dim for dim in range(len(shape)) if dim != 1]
    if running_mean is not None:
        mean = walk.emit(aten.mean.dim, tensor, dims, val=statistics)
        _move_average(walk, running_mean, mean, momentum)
    if running_var is not None:
        var = walk.emit(aten.var.correction, tensor, dims, correction=1, val=statistics)
        _move_average(walk, running_var, var, momentum)
    return walk.item(node, 0)


def _move_average(walk: Walk, running: fx.Node, batch: fx.Node, momentum: float) -> None:
    val = running.meta["val"]
    old = walk.emit(aten.mul.Scalar, running, 1.0 - momentum, val=val)
    new = walk.emit(aten.mul.Scalar, batch, momentum, val=val)
    walk.write(running, walk.emit(aten.add.Tensor, old, new, val=val))


@rule("aten.layer_norm.default")
def layer_norm(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    normalized_shape: Any,
    weight: fx.Node | None = None,
    bias: fx.Node | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = False,
) -> fx.Node:
    shape, dtype = tensor.meta["val"].shape, tensor.meta["val"].dtype
    outer = len(shape) - len(normalized_shape)
    statistics = walk.fake((*shape[:outer], *[1] * len(normalized_shape)), dtype)
    node = walk.emit(
        aten.native_layer_norm.default,
        tensor,
        list(normalized_shape),
        weight,
        bias,
        eps,
        val=(walk.fake(shape, dtype) if val is None else val, statistics, statistics),
    )
    return walk.item(node, 0)


@rule("aten.dropout.default", "aten.feature_dropout.default", "aten.alpha_dropout.default")
def dropout(walk: Walk, val: Any, tensor: fx.Node, p: float, train: bool) -> fx.Node:
    if not train or p == 0.0:
        return tensor
    shape, dtype = tensor.meta["val"].shape, tensor.meta["val"].dtype
    node = walk.emit(
        aten.native_dropout.default,
        tensor,
        p,
        True,
        val=(walk.fake(shape, dtype), walk.fake(shape, torch.bool)),
    )
    return walk.item(node, 0)


@rule("aten.max_pool2d.default")
def max_pool2d(walk: Walk, val: Any, tensor: fx.Node, *args: Any, **kwargs: Any) -> fx.Node:
    pair = None
    if val is not None:
        pair = (val, walk.fake(val.shape, torch.int64))
    node = walk.emit(
        aten.max_pool2d_with_indices.default, tensor, *map(_listed, args), val=pair, **kwargs
    )
    return walk.item(node, 0)


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else value


@rule("aten.adaptive_avg_pool2d.default")
def adaptive_avg_pool2d(walk: Walk, val: Any, tensor: fx.Node, output_size: Any) -> fx.Node:
    if list(output_size) == [1, 1]:
        return walk.emit(aten.mean.dim, tensor, [-1, -2], True, val=val)
    height, width = tensor.meta["val"].shape[-2:]
    sizes = (height, width, *output_size)
    if all(isinstance(size, int) and size > 0 for size in sizes):
        rows, columns = output_size
        if height % rows == 0 and width % columns == 0:
            kernel = [height // rows, width // columns]
            return walk.emit(aten.avg_pool2d.default, tensor, kernel, kernel, val=val)
    return walk.emit(aten._adaptive_avg_pool2d.default, tensor, list(output_size), val=val)


@rule("aten.pad.default")
def pad(
    walk: Walk,
    val: Any,
    tensor: fx.Node,
    padding: Any,
    mode: str = "constant",
    value: float | None = None,
) -> Any:
    if mode == "constant":
        return constant_pad(walk, val, tensor, padding, value or 0.0)
    dims = len(padding) // 2
    if mode == "circular":
        return walk.lower(aten._pad_circular.default, (tensor, list(padding)), {}, val)
    family = "reflection" if mode == "reflect" else "replication"
    operator = getattr(aten, f"{family}_pad{dims}d").default
    return walk.emit(operator, tensor, list(padding), val=val)


@rule("aten.constant_pad_nd.default")
def constant_pad(
    walk: Walk, val: Any, tensor: fx.Node, padding: Any, value: float = 0.0
) -> fx.Node:
    # The official kernel only adds: what is taken away is cut off before.
    rank = tensor.meta["val"].dim()
    added = []
    for index, amount in enumerate(padding):
        is_cut = isinstance(amount, int) and amount < 0
        added.append(0 if is_cut else amount)
        if is_cut:
            start, end = (0, amount) if index % 2 else (-amount, None)
            arguments = (rank - 1 - index // 2, start, end, 1)
            tensor = walk.emit(aten.slice_copy.Tensor, tensor, *arguments)
    return walk.emit(aten.constant_pad_nd.default, tensor, added, value, val=val)


@rule("aten.embedding.default")
def embedding(
    walk: Walk,
    val: Any,
    weight: fx.Node,
    indices: fx.Node,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> fx.Node:
    # What the last three say concerns gradients only.
    return walk.emit(aten.embedding.default, weight, indices, val=val)
