import pytest
import torch
from torch import nn
from torch.export import Dim

from etlab.exir.graph import run_edge_graph
from etlab.exir.passes.expand_volumes import ExpandVolumes
from etlab.testing import assert_same
from etlab.testing_graphs import check_pass

torch.manual_seed(0)
VOLUME = torch.randn(2, 4, 5, 6, 4)
SHIFTED = {"stride": (2, 1, 3), "padding": (1, 0, 2), "dilation": (1, 2, 1)}
SPREAD = {"stride": (3, 1, 2), "padding": (1, 0, 0), "output_padding": (2, 0, 1)}
LAYERS = {
    "plain": nn.Conv3d(4, 3, 3),
    "strided, padded, dilated": nn.Conv3d(4, 3, (3, 2, 1), **SHIFTED),
    "dilated in depth": nn.Conv3d(4, 3, 2, dilation=(3, 1, 1)),
    "groups without bias": nn.Conv3d(4, 6, 2, groups=2, bias=False),
    "one tap": nn.Conv3d(4, 3, (1, 3, 3)),
    "transposed": nn.ConvTranspose3d(4, 3, 3),
    "transposed with gaps": nn.ConvTranspose3d(4, 6, (2, 3, 1), groups=2, **SPREAD),
    "transposed and cut": nn.ConvTranspose3d(4, 3, 3, padding=(3, 1, 1), stride=(4, 1, 1)),
}


def _operators(graph):
    return [len(node.args[3]) for node in graph.graph.nodes if "convolution" in str(node.target)]


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_convolution_of_a_volume_is_one_of_planes(layer):
    graph, _ = check_pass(ExpandVolumes(), layer, VOLUME)
    assert _operators(graph) == [2]


@pytest.mark.parametrize("kind", [nn.Conv3d, nn.ConvTranspose3d])
def test_volumes_of_dynamic_sizes_are_planes_too(kind):
    sizes = {0: Dim("batch", max=5), 2: Dim("depth", min=4, max=9), 3: Dim("rows", min=4, max=9)}
    layer = kind(4, 3, 3, stride=2, padding=1)
    graph, _ = check_pass(ExpandVolumes(), layer, VOLUME, dynamic_shapes=(sizes,))
    assert _operators(graph) == [2]
    other = torch.randn(3, 4, 6, 7, 4)
    ((result,), _) = run_edge_graph(graph, [other])
    assert_same(result, layer(other).detach(), "another size")


def test_convolution_of_pictures_stays():
    graph, _ = check_pass(ExpandVolumes(), nn.Conv2d(4, 3, 3), VOLUME[:, :, 0])
    assert _operators(graph) == [2]
