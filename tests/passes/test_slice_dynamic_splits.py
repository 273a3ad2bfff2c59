import torch
from exir.lowering import Function, seeded
from torch.export import Dim

from etlab.exir.passes.slice_dynamic_splits import SliceDynamicSplits
from etlab.testing_graphs import check_pass

ROWS = (({0: Dim("rows", max=9)},),)


def _cut(x):
    return *x.chunk(2, 1), *x[:, :3].unbind(1), x.sum(1)


def _is_split(node):
    return node.target in (torch.ops.aten.split_copy.Tensor, torch.ops.aten.unbind_copy.int)


def test_splits_of_dynamic_tensors_become_slices():
    edge, changed = check_pass(
        SliceDynamicSplits(), Function(_cut), seeded(4, 7), dynamic_shapes=ROWS
    )
    assert changed
    assert not any(map(_is_split, edge.graph.nodes))


def test_splits_of_static_tensors_stay():
    edge, changed = check_pass(SliceDynamicSplits(), Function(_cut), seeded(4, 7))
    assert not changed
    assert sum(map(_is_split, edge.graph.nodes)) == 2
