"""Write convolutions of volumes as convolutions of planes, which every runtime has."""

from typing import Any

import torch

from etlab.exir.decompose.paste import paste
from etlab.exir.decompose.walk import Shared, Walk
from etlab.exir.edge import EdgeGraph
from etlab.exir.fakes import fake_mode_of
from etlab.exir.graph import provenance, replace
from etlab.exir.passes.base import Pass, PassResult

aten = torch.ops.aten


class ExpandVolumes(Pass):
    """Replace `convolution` of (batch, channels, depth, height, width) by one of planes.

    Before: `convolution(x, w)`
    After: `convolution(cat([slice(x), slice(x), ...]), view(w))`, a slice for each tap in depth

    The taps in depth become channels, the planes of a volume a batch: one convolution adds up the
    same products. What is transposed has zeros put between its planes first.
    """

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        nodes = [
            node
            for node in graph.graph.nodes
            if node.target is aten.convolution.default and len(node.args[3]) == 3
        ]
        if nodes:
            walk = Walk(Shared(fake_mode_of(graph.graph), {}, mutates=False), graph.graph)
        for node in nodes:
            walk.provenance = provenance(node)
            with graph.graph.inserting_before(node):
                made = paste(walk, _in_planes, node.args, node.kwargs, node.meta["val"])
            replace(node, made)
        changed = bool(nodes)
        for body in graph.submodules.values():
            if isinstance(body, EdgeGraph):
                changed = self.run(body).changed or changed
        return PassResult(graph, changed)


def _in_planes(
    volume: torch.Tensor,  # (batch, channels, depth, height, width)
    weight: torch.Tensor,  # (outputs, channels / groups, taps, rows, columns)
    bias: torch.Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
) -> torch.Tensor:
    taps, reach = weight.shape[2], dilation[0] * (weight.shape[2] - 1)
    planes = volume.transpose(1, 2)
    before, after, pace = padding[0], padding[0], stride[0]
    if transposed:
        gap = stride[0] - 1
        planes = _with_zeros(planes.unsqueeze(2), 2, 0, gap).flatten(1, 2)
        before, pace = reach - padding[0], 1
        after = before + output_padding[0] - gap
    planes = _with_zeros(planes, 1, before, after)
    depth = (planes.shape[1] - reach - 1) // pace + 1
    starts = [tap * dilation[0] for tap in range(taps)]
    if transposed:
        starts.reverse()
    seen = [planes[:, start : start + (depth - 1) * pace + 1 : pace] for start in starts]
    seen = [torch.unflatten(part, 2, (groups, -1)) for part in seen]
    pictures = torch.cat(seen, 3).flatten(2, 3).flatten(0, 1)
    result = torch.convolution(
        pictures,
        _with_taps_as_channels(weight, groups if transposed else None),
        bias,
        stride[1:],
        padding[1:],
        dilation[1:],
        transposed,
        output_padding[1:],
        groups,
    )
    return result.reshape(volume.shape[0], depth, *result.shape[1:]).transpose(1, 2)


def _with_zeros(tensor: torch.Tensor, dim: int, before: int, after: int) -> torch.Tensor:
    """`tensor` with zeros around it in one dimension; less than nothing cuts off."""
    shape = list(tensor.shape)
    if not any(isinstance(size, torch.SymInt) for size in shape):
        behind = [0, 0] * (len(shape) - 1 - dim)
        return torch.constant_pad_nd(tensor, [*behind, before, after])
    # Padding cannot be traced for more than one size.
    kept = tensor.narrow(dim, max(-before, 0), shape[dim] + min(before, 0) + min(after, 0))
    parts = [kept]
    if before > 0:
        parts.insert(0, tensor.new_zeros([*shape[:dim], before, *shape[dim + 1 :]]))
    if after > 0:
        parts.append(tensor.new_zeros([*shape[:dim], after, *shape[dim + 1 :]]))
    return torch.cat(parts, dim)


def _with_taps_as_channels(weight: torch.Tensor, transposed_groups: int | None) -> torch.Tensor:
    """The weight of planes: `taps` times the input channels, those of one tap side by side."""
    if transposed_groups is None:
        return weight.transpose(1, 2).flatten(1, 2)
    grouped: Any = torch.unflatten(weight, 0, (transposed_groups, -1))
    return grouped.permute(0, 3, 1, 2, 4, 5).flatten(0, 2)  # type: ignore[no-any-return]
