"""What the partitioner takes, what it leaves, and the reasons it gives."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from interop.xnnpack import Calls, check
from torch import nn
from torch.export import Dim

import etlab
from etlab.backends.xnnpack import ConfigPrecisionType, XnnpackPartitioner
from etlab.exir import to_edge_transform_and_lower
from etlab.exir.partition.lower import REASONS
from etlab.testing_backends import lowered_modules, nodes_left
from etlab.testing_graphs import export_module

X4 = torch.randn(2, 4, 6, 6, generator=torch.Generator().manual_seed(0))
SIZE = Dim("size", min=2, max=9)


def _lower(function, *inputs, partitioner=None, **options):
    module = function if isinstance(function, nn.Module) else Calls(function)
    exported = export_module(module, inputs, **options)
    chosen = partitioner or XnnpackPartitioner()
    return to_edge_transform_and_lower(exported, partitioner=[chosen]).edge_graph()


def _reasons(edge):
    return [
        reason
        for node in edge.graph.nodes
        for reason in node.meta.get(REASONS, {}).values()
        if node.op == "call_function"
    ]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x.double() + 1, "float64, XNNPACK computes in float32"),
        (lambda x: x.cumsum(1), "nothing like aten.cumsum"),
        (lambda x: F.gelu(x.half()), "no GELU in float16"),
        (lambda x: x.half() * -1e9, "-1e+09 is infinite in float16"),
        (lambda x: x.amax(1), "largest over dimensions"),
        (lambda x: x.mean(1), "averages dimensions"),
        (lambda x: x[:, :, ::2] + 1, "every 2th element"),
        (lambda x: F.interpolate(x, scale_factor=1.3, mode="bilinear"), "not the ratio"),
        (lambda x: F.max_pool2d(x, 1, 2), "window is a single element"),
        (lambda x: F.max_pool2d(x, 2, 3), "larger than its window"),
        (lambda x: F.avg_pool2d(x, 2, divisor_override=3), "divides by 3"),
        (lambda x: F.avg_pool2d(x, 4, 4, ceil_mode=True), "beyond the picture"),
        (lambda x: F.conv2d(x, x[:, :, :3, :3]), "weight is no parameter"),
        (lambda x: x**1.5, "exponent is 1.5"),
        (F.selu, "scaled ELU"),
        (lambda x: x.clamp(2, 1), "range 2 to 1 is empty"),
        (lambda x: x.reshape(2, 1, 1, 1, 4, 6, 6) * 2, "7 dimensions"),
        (lambda x: x[:, :0] * 2, "no elements"),
        (lambda x: x.to(torch.bfloat16) * 2, "enable_bf16"),
        (lambda x: F.conv3d(x[None], torch.ones(2, 2, 1, 1, 1)), "convolves in 1 or 2"),
        (lambda x: x.transpose(1, 2), "only moves elements"),
    ],
)
def test_what_is_left_has_its_reason(function, words):
    reasons = _reasons(_lower(function, X4))
    assert any(words in reason for reason in reasons), reasons


def test_reasons_for_sizes_that_vary():
    def function(x):
        return x.reshape(x.shape[0], x.shape[1], 3, 2) * 2, x[:, 1:] * 2

    x = torch.randn(3, 4, 6)
    shapes = {"x": {0: SIZE, 1: Dim("other", min=3, max=9)}}
    edge = _lower(function, x, dynamic_shapes=shapes)
    assert any("several sizes of its result vary" in reason for reason in _reasons(edge))
    assert any("whose size varies" in reason for reason in _reasons(edge))


def test_every_operator_that_is_left_has_a_reason():
    edge = _lower(lambda x: (x.cumsum(1).sin().flip(-1) + 1).relu(), X4)
    assert len(_reasons(edge)) == len(nodes_left(edge)) == 2


def test_one_delegate_an_operator_on_request():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(6, 5), nn.Sigmoid(), nn.Linear(5, 4))
    partitioner = XnnpackPartitioner(per_op_mode=True)
    assert len(lowered_modules(check(layers, X4, partitioner=partitioner))) == 3


def test_only_the_operators_asked_for():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(6, 5), nn.Sigmoid())
    partitioner = XnnpackPartitioner(configs=["linear"])
    edge = check(layers, X4, partitioner=partitioner, is_whole=False)
    assert nodes_left(edge) == ["aten.sigmoid.default"]


def test_only_the_precisions_asked_for():
    partitioner = XnnpackPartitioner(config_precisions=ConfigPrecisionType.STATIC_QUANT)
    edge = _lower(nn.Linear(6, 5), X4, partitioner=partitioner)
    assert any("FP32" in reason for reason in _reasons(edge))


def test_partitioners_are_found_by_name():
    names = etlab.list_partitioners().names
    assert {"xnnpack", "xnnpack-per-op"} <= set(names)
    run = etlab.export(nn.Linear(6, 5), (X4,), partitioner="xnnpack-per-op")
    assert len(lowered_modules(run.stages["delegated"].edge_graph())) == 1


def test_a_padding_that_cuts_is_taken_as_a_slice_and_a_padding():
    edge = _lower(lambda x: F.pad(x, (-1, 1)) + 1, X4)
    assert nodes_left(edge) == []
