import torch
from torch import nn

from etlab.exir.passes.remove_noops import RemoveNoops
from etlab.testing_graphs import check_pass

aten = torch.ops.aten


class _Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def _calls(function):
    edge, _ = check_pass(RemoveNoops(), _Calls(function), torch.randn(3, 5), keep_whole=True)
    return [n.target for n in edge.graph.nodes if n.op == "call_function"]


def test_copies_inside_go():
    assert _calls(lambda x: x.sin().clone().cos()) == [aten.sin.default, aten.cos.default]


def test_neutral_views_and_paddings_go():
    def function(x):
        x = nn.functional.pad(x.sin(), (0, 0)).permute(0, 1)
        return x.repeat(1, 1)[:, 0:5].cos()

    assert _calls(function) == [aten.sin.default, aten.cos.default]


def test_copy_that_keeps_an_output_apart_from_an_input_stays():
    assert _calls(lambda x: x.clone()) == [aten.clone.default]


def test_copy_that_keeps_two_outputs_apart_stays():
    def function(x):
        x = x.sin()
        return x, x.clone()

    assert aten.clone.default in _calls(function)


def test_cast_to_another_dtype_stays():
    assert aten._to_copy.default in _calls(lambda x: x.double().sin())
