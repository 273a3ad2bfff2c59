"""Models quantized by torchao, mixed precision, and programs that are core already."""

import pytest
import torch
from torch import nn

from etlab.exir import to_edge
from etlab.exir.graph import run_edge_graph
from etlab.testing_graphs import check_lowering, export_module

torch.manual_seed(0)


def _targets(edge):
    return {str(node.target) for node in edge.graph.nodes if node.op == "call_function"}


def _quantized(config):
    from torchao.quantization import quantize_

    model = nn.Sequential(nn.Linear(128, 96), nn.ReLU(), nn.Linear(96, 5)).eval()
    quantize_(model, config)
    return model


def test_weight_only_model_stores_its_integers():
    from torchao.quantization import IntxWeightOnlyConfig
    from torchao.quantization.granularity import PerAxis

    edge = check_lowering(
        _quantized(IntxWeightOnlyConfig(torch.int8, PerAxis(0))), torch.randn(2, 128)
    )
    dtypes = {tuple(t.shape): t.dtype for t in edge.tensors.values()}
    assert dtypes[(96, 128)] is torch.int8
    assert not any("torchao" in target for target in _targets(edge))


def test_dynamic_activations_with_grouped_weights_compute_what_eager_does():
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig
    from torchao.quantization.granularity import PerGroup

    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(32)
    )
    check_lowering(_quantized(config), torch.randn(2, 128))


def test_quantize_and_dequantize_stay_whole():
    import torch.ao.quantization.fx._decomposed  # registers the operators

    class Quantizes(nn.Module):
        def forward(self, x):
            ops = torch.ops.quantized_decomposed
            q = ops.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)
            return ops.dequantize_per_tensor(q, 0.1, 3, -128, 127, torch.int8)

    edge = check_lowering(Quantizes(), torch.randn(3, 5))
    assert _targets(edge) == {
        "quantized_decomposed.quantize_per_tensor.default",
        "quantized_decomposed.dequantize_per_tensor.default",
    }


def test_region_under_autocast_keeps_its_precision():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(5, 4)

        def forward(self, x):
            with torch.autocast("cpu", torch.bfloat16):
                y = self.linear(x)
            return y.float() + 1

    with pytest.warns(UserWarning, match="autocast"):
        check_lowering(Mixed(), torch.randn(3, 5))


def test_program_that_is_core_already_lowers_to_the_same_values():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.ones(4))
            self.linear = nn.Linear(5, 4)

        def forward(self, x):
            self.count.add_(1)
            return nn.functional.silu(self.linear(x)) * self.count

    x = torch.randn(3, 5)
    exported = export_module(Counter(), [x])
    want, writes = run_edge_graph(to_edge(exported).edge_graph(), [x])
    edge = to_edge(exported.run_decompositions()).edge_graph()
    got, core_writes = run_edge_graph(edge, [x])
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(core_writes, writes)
