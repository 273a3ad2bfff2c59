"""Quantized models: the patterns that become integer nodes, judged in ExecuTorch's own runtime."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from interop.official import run_official
from interop.xnnpack import node_names, payloads, run_natively
from torch import nn

import etlab
from etlab.backends.xnnpack import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
    XnnpackQuantizedPartitioner,
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from etlab.backends.xnnpack.payload.schema import Datatype, QuantizedTensorValue, tensor_of
from etlab.backends.xnnpack.weights import pack_nibbles
from etlab.exir import to_edge_transform_and_lower
from etlab.exir.partition.lower import REASONS
from etlab.quantize.base import quiet_imports
from etlab.testing_backends import lowered_modules, nodes_left

with quiet_imports():
    from torchao.quantization import quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig


def _random(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _quantize(model, inputs, **options):
    """The model with observers' scales of one run, by torchao's XNNPACK quantizer."""
    exported = torch.export.export(model.eval(), inputs, strict=False).module()
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**options))
    prepared = prepare_pt2e(exported, quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def _check(quantized, inputs, *, steps=1, partitioner=None, is_whole=True):
    """Lower, run in the official runtime; differs from eager's simulation by few steps of 255."""
    exported = torch.export.export(quantized, inputs, strict=False)
    manager = to_edge_transform_and_lower(
        exported, partitioner=[partitioner or XnnpackPartitioner()]
    )
    edge = manager.edge_graph()
    if is_whole:
        assert not nodes_left(edge), nodes_left(edge)
    actual = run_official(bytes(manager.to_executorch().buffer), inputs)
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(quantized(*inputs))
    for got, want in zip(actual, expected, strict=True):
        step = (want.max() - want.min()) / 255
        assert (got - want).abs().max() <= steps * step + 1e-6
    return edge


def _datatypes(edge):
    values = [value for graph in payloads(edge) for value in graph.xvalues]
    return {tensor_of(value).datatype for value in values}


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.last = nn.Linear(4, 3)

    def forward(self, x):
        y = F.relu(self.first(x))
        y = F.max_pool2d(F.relu(self.second(y) + y), 2)
        return self.last(F.adaptive_avg_pool2d(y * y, 1).flatten(1))


@pytest.mark.parametrize("is_per_channel", [False, True])
@pytest.mark.parametrize(
    ("layers", "shape"),
    [
        (lambda: nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU()), (1, 3, 6, 6)),
        (lambda: nn.Sequential(nn.Conv2d(4, 8, 3, groups=4), nn.ReLU()), (1, 4, 6, 6)),
        (lambda: nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3)), (2, 8)),
        (Residual, (2, 3, 6, 6)),
    ],
)
def test_layers_between_fixed_scales_compute_with_integers(layers, shape, is_per_channel):
    torch.manual_seed(0)
    inputs = (_random(*shape),)
    quantized = _quantize(layers(), inputs, is_per_channel=is_per_channel)
    edge = _check(quantized, inputs)
    assert node_names(edge).count("Convert") == 2
    wanted = Datatype.QCINT8 if is_per_channel else Datatype.QINT8
    assert wanted in _datatypes(edge)


def test_a_layer_used_in_two_places_has_a_bias_for_each():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 6)

        def forward(self, x):
            return self.layer(self.layer(x) * 3)

    torch.manual_seed(0)
    inputs = (_random(3, 6),)
    edge = _check(_quantize(Twice(), inputs, is_per_channel=False), inputs)
    biases = [
        value.xvalue_union.quant_params.scale
        for value in payloads(edge)[0].xvalues
        if tensor_of(value).datatype is Datatype.QINT32
    ]
    assert len(set(biases)) == 2


@pytest.mark.parametrize("weight_bits", [8, 4])
def test_layers_of_rows_quantized_at_run_time(weight_bits):
    torch.manual_seed(0)
    inputs = (_random(2, 3, 8),)
    low, high = (-127, 127) if weight_bits == 8 else (-8, 7)
    options = {"weight_qmin": low, "weight_qmax": high, "is_per_channel": True, "is_dynamic": True}
    layers = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4))
    quantized = _quantize(layers, inputs, **options)
    # Eager has one scale for the tensor, XNNPACK one for each row.
    edge = _check(quantized, inputs, steps=4)
    weight = Datatype.QCINT8 if weight_bits == 8 else Datatype.QCINT4
    assert {weight, Datatype.QDINT8} <= _datatypes(edge)
    assert node_names(edge) == ["Convert", "FullyConnected", "Convert", "FullyConnected"]


@pytest.mark.parametrize(
    ("dtype", "granularity", "datatype"),
    [
        (torch.int4, PerGroup(32), Datatype.QBINT4),
        (torch.int4, PerAxis(0), Datatype.QCINT4),
        (torch.int8, PerAxis(0), Datatype.QCINT8),
    ],
)
def test_weights_of_torchao(dtype, granularity, datatype):
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 6)).eval()
    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=dtype, weight_granularity=granularity
    )
    quantize_(layers, config)
    edge = _check(layers, (_random(3, 64),), steps=2)
    assert datatype in _datatypes(edge)


def test_quantized_weights_for_floats_stay_small_and_leave_the_bias_alone():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 6)).eval()
    run = etlab.export(layers, (_random(3, 64),), quantizer="int8-weights:min_elements=1")
    exported = run.stages["quantized"]
    manager = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    edge = manager.edge_graph()
    assert Datatype.QCINT8 in _datatypes(edge)
    assert node_names(edge) == ["FullyConnected", "Add"] * 2
    x = _random(3, 64, seed=1)
    program = bytes(manager.to_executorch().buffer)
    for actual in (*run_official(program, (x,)), *run_natively(program, [(x,)])[0]):
        torch.testing.assert_close(actual, exported.module()(x), atol=1e-5, rtol=1e-5)


def test_rows_are_quantized_once_for_all_layers_that_read_them():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key = nn.Linear(8, 4), nn.Linear(8, 4)

        def forward(self, x):
            return self.query(x) * self.key(x)

    torch.manual_seed(0)
    inputs = (_random(3, 8),)
    quantized = _quantize(Two(), inputs, is_per_channel=True, is_dynamic=True)
    edge = _check(quantized, inputs, steps=6)
    assert node_names(edge).count("Convert") == 1


def test_nibbles_lie_low_column_first_and_odd_rows_are_filled():
    packed = pack_nibbles(torch.tensor([[-8, 7, 1], [0, -1, -7]], dtype=torch.int8))
    assert packed.tolist() == [[0xF0, 0x89], [0x78, 0x81]]


def test_what_cannot_be_quantized_at_run_time_has_its_reason():
    inputs = (_random(2, 8),)
    quantized = _quantize(nn.Linear(8, 3), inputs, is_per_channel=False, is_dynamic=True)
    edge = _check(quantized, inputs, steps=4, is_whole=False)
    reasons = [r for node in edge.graph.nodes for r in node.meta.get(REASONS, {}).values()]
    assert any("one scale for all channels" in reason for reason in reasons)


def test_precisions_choose_among_quantized_layers():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(8, 6), nn.Softmax(-1), nn.Linear(6, 4))
    inputs = (_random(3, 8),)
    dynamic = _quantize(layers, inputs, is_per_channel=True, is_dynamic=True)
    partitioner = XnnpackDynamicallyQuantizedPartitioner()
    edge = _check(dynamic, inputs, steps=4, partitioner=partitioner, is_whole=False)
    assert nodes_left(edge) == ["aten._softmax.default"]
    static = _quantize(layers, inputs, is_per_channel=True)
    partitioner = XnnpackQuantizedPartitioner()
    edge = _check(static, inputs, partitioner=partitioner, is_whole=False)
    assert nodes_left(edge) == ["aten._softmax.default"]


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_one_delegate_a_layer_takes_its_conversions_along(is_dynamic):
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(8, 6), nn.Linear(6, 4))
    inputs = (_random(3, 8),)
    quantized = _quantize(layers, inputs, is_per_channel=True, is_dynamic=is_dynamic)
    partitioner = XnnpackPartitioner(per_op_mode=True)
    edge = _check(quantized, inputs, steps=4, partitioner=partitioner, is_whole=False)
    assert len(lowered_modules(edge)) == 2
    assert node_names(edge).count("FullyConnected") == 2


def test_integers_cross_the_borders_of_delegates():
    torch.manual_seed(0)
    inputs = (_random(3, 8),)
    quantized = _quantize(nn.Linear(8, 6), inputs, is_per_channel=False)
    partitioner = XnnpackPartitioner(per_op_mode=True)
    edge = _check(quantized, inputs, partitioner=partitioner, is_whole=False)
    (graph,) = payloads(edge)
    externals = [v for v in graph.xvalues if tensor_of(v).flags]
    assert all(isinstance(value.xvalue_union, QuantizedTensorValue) for value in externals)


def test_a_residual_crosses_a_kernel_as_integers():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x):
            y = self.first(x) + x
            return self.second(F.layer_norm(y, (8,))) + y

    torch.manual_seed(0)
    inputs = (_random(3, 8),)
    quantized = _quantize(Block(), inputs, is_per_channel=True)
    edge = _check(quantized, inputs, steps=2, is_whole=False)
    assert nodes_left(edge) == ["aten.native_layer_norm.default"]
    second = payloads(edge)[1]
    sums = [node for node in second.xnodes if type(node.xnode_union).__name__ == "Add"]
    quantized_ids = {
        tensor_of(v).id_out
        for v in second.xvalues
        if isinstance(v.xvalue_union, QuantizedTensorValue)
    }
    assert {sums[0].xnode_union.input1_id, sums[0].xnode_union.input2_id} <= quantized_ids


def test_a_limit_of_one_user_does_not_reach_another():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv2d(3, 4, 3)

        def forward(self, x):
            y = self.layer(x)
            return F.hardtanh(y, -0.2, 0.2) + F.max_pool2d(y, 3, 1, 1)

    torch.manual_seed(0)
    inputs = (_random(1, 3, 6, 6),)
    quantized = _quantize(Model(), inputs, is_per_channel=False)
    edge = _check(quantized, inputs, steps=2)
    assert "Clamp" in node_names(edge)


def test_arithmetic_on_indices_is_not_quantized():
    class Rolled(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            places = (torch.arange(8) + 3) * 2 % 8
            return self.layer(x)[:, places] + x

    torch.manual_seed(0)
    inputs = (_random(3, 8),)
    quantized = _quantize(Rolled(), inputs, is_per_channel=True)
    _check(quantized, inputs, steps=2, is_whole=False)
