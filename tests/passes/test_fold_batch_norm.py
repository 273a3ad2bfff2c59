import torch
from torch import nn

from etlab.exir.passes.fold_batch_norm import FoldBatchNorm
from etlab.testing_graphs import check_pass

torch.manual_seed(0)
IMAGE = torch.randn(2, 6, 9, 11)
aten = torch.ops.aten


def _settled(norm):
    """A batch norm with statistics and affine parameters worth folding."""
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2.0)
    if norm.affine:
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    return norm


def _norms(edge):
    target = aten._native_batch_norm_legit_no_training.default
    return sum(node.target is target for node in edge.graph.nodes)


def _fold(module, *inputs):
    return check_pass(FoldBatchNorm(), module, *inputs, keep_whole=True)[0]


def test_folds_into_convolutions_of_every_kind():
    layers = [
        nn.Conv2d(6, 4, 3),
        nn.Conv2d(6, 4, 3, bias=False),
        nn.Conv2d(6, 12, 3, groups=6),
        nn.ConvTranspose2d(6, 4, 3, groups=2),
        nn.ConvTranspose2d(6, 4, 3, groups=1),
    ]
    for layer in layers:
        norm = _settled(nn.BatchNorm2d(layer.out_channels))
        assert _norms(_fold(nn.Sequential(layer, norm), IMAGE)) == 0
    norm = _settled(nn.BatchNorm2d(4, affine=False))
    assert _norms(_fold(nn.Sequential(nn.Conv2d(6, 4, 3), norm), IMAGE)) == 0


def test_folds_into_linear_only_along_its_last_axis():
    flat = nn.Sequential(nn.Linear(5, 4), _settled(nn.BatchNorm1d(4)))
    assert _norms(_fold(flat, torch.randn(3, 5))) == 0
    # On three dimensions the norm works on axis 1, which is not the layer's output.
    deep = nn.Sequential(nn.Linear(5, 5), _settled(nn.BatchNorm1d(4)))
    assert _norms(_fold(deep, torch.randn(3, 4, 5))) == 1


def test_layer_used_twice_with_two_norms_gets_two_weights():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(6, 6, 3, padding=1)
            self.first, self.second = (_settled(nn.BatchNorm2d(6)) for _ in range(2))

        def forward(self, x):
            return self.second(self.conv(self.first(self.conv(x))))

    edge = _fold(Shared(), IMAGE)
    assert _norms(edge) == 0
    weights = [n.args[1] for n in edge.graph.nodes if n.target is aten.convolution.default]
    assert len(set(weights)) == 2
    parameters = [n.target for n in edge.graph.nodes if n.op == "placeholder"]
    assert len(set(parameters)) == len(parameters)


def test_result_used_elsewhere_keeps_the_norm():
    class Used(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(6, 4, 3), _settled(nn.BatchNorm2d(4))

        def forward(self, x):
            x = self.conv(x)
            return self.norm(x) + x

    assert _norms(_fold(Used(), IMAGE)) == 1


def test_norm_alone_is_left():
    assert _norms(_fold(_settled(nn.BatchNorm2d(6)), IMAGE)) == 1


def test_folded_layer_carries_the_provenance_of_the_norm():
    edge = _fold(nn.Sequential(nn.Conv2d(6, 4, 3), _settled(nn.BatchNorm2d(4))), IMAGE)
    conv = next(n for n in edge.graph.nodes if n.target is aten.convolution.default)
    assert conv.meta["from_node"] == "batch_norm"
