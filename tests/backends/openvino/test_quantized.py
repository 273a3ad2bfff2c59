"""Quantized graphs with OpenVINO: the integers of the simulation, also across its border."""

import pytest
import torch
from torch import nn

import etlab
import etlab.backends.openvino
from etlab.testing_backends import lowered_modules

pytest.importorskip("openvino", reason="openvino is not installed")

torch.manual_seed(0)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.last = nn.Linear(8, 5)

    def forward(self, x):
        x = self.first(x).relu()
        x = (x + self.second(x)).relu()
        return self.last(torch.cat([x[:, :4], x[:, 4:].flip(3)], 1).mean((2, 3)))


SAMPLES = [(torch.rand(1, 3, 12, 10),) for _ in range(4)]


def _export(quantizer, partitioner, model=None):
    return etlab.export(
        (model or Residual()).eval(),
        SAMPLES[0],
        quantizer=quantizer,
        calibration=SAMPLES,
        partitioner=partitioner,
    )


@pytest.mark.parametrize("quantizer", ["int8", "int8:per_channel=False", "int8-openvino"])
def test_openvino_computes_what_the_simulation_does(quantizer):
    run = _export(quantizer, "openvino")
    assert run.delegation().coverage > 0.9
    for sample in SAMPLES:
        simulated, native = (run.run(sample, path=path) for path in ("quantized", "native"))
        step = (simulated.max() - simulated.min()) / 255
        assert (simulated - native).abs().max() <= 2 * step


@pytest.mark.parametrize("skipped", ["convolution", "quantize_per_tensor", "dequantize_per_tensor"])
def test_integers_cross_the_border(skipped):
    partitioner = etlab.backends.openvino.OpenvinoPartitioner(op_types_to_skip={skipped})
    run = _export("int8", partitioner)
    dtypes = {
        node.meta["val"].dtype
        for module in lowered_modules(run.stages["delegated"].edge_graph())
        for node in module.original.graph.nodes
        if node.op == "placeholder" or node in module.original.graph.output_node().all_input_nodes
        if isinstance(node.meta["val"], torch.Tensor)
    }
    assert torch.int8 in dtypes
    for sample in SAMPLES:
        simulated, native = (run.run(sample, path=path) for path in ("quantized", "native"))
        step = (simulated.max() - simulated.min()) / 255
        assert (simulated - native).abs().max() <= 2 * step


def test_integer_arithmetic_on_quantized_values_is_left():
    class Doubled(nn.Module):
        def forward(self, x):
            q = torch.ops.quantized_decomposed.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)
            return q + q

    run = etlab.export(Doubled(), SAMPLES[0], partitioner="openvino")
    assert "quantized integers" in " ".join(group.reason for group in run.delegation().reasons)
    assert torch.equal(run.run(SAMPLES[0]), Doubled()(*SAMPLES[0]))
