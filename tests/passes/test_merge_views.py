import pytest
import torch
from exir.lowering import Function, seeded
from torch.export import Dim

from etlab.exir import to_edge
from etlab.exir.passes.merge_views import MergeViews
from etlab.testing_graphs import check_pass, export_module

X = seeded(2, 3, 5)
VIEWS = {
    "views": lambda x: x.view(6, 5).view(30).unsqueeze(0).squeeze(),
    "permutations": lambda x: x.permute(2, 0, 1).transpose(0, 1).permute(1, 2, 0),
    "transposed and back": lambda x: x.transpose(1, 2).transpose(-1, -2) + 1,
    "a transposed matrix": lambda x: x[0].t().transpose(0, 1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_in_a_row_become_one(name):
    _, changed = check_pass(MergeViews(), Function(VIEWS[name]), X, keep_whole=True)
    assert changed
    edge = to_edge(export_module(Function(VIEWS[name]), (X,))).edge_graph()
    views = [node for node in edge.graph.nodes if "copy" in str(node.target)]
    assert len(views) <= (1 if name != "a transposed matrix" else 2)


def test_views_of_dynamic_sizes_become_one():
    rows = (({0: Dim("rows", max=9)},),)
    function = Function(lambda x: x.view(x.shape[0], 15).view(x.shape[0] * 3, 5))
    _, changed = check_pass(MergeViews(), function, X, keep_whole=True, dynamic_shapes=rows)
    assert changed


def test_a_view_that_is_used_elsewhere_stays():
    edge, _ = check_pass(
        MergeViews(), Function(lambda x: (x.view(30), x.view(30).view(15, 2))), X, keep_whole=True
    )
    assert sum(node.target is torch.ops.aten.view_copy.default for node in edge.graph.nodes) == 3
