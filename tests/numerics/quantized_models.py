"""Small models in integers, exported for the tests of numerics."""

import torch
from torch import nn

import etlab
from etlab.backends.xnnpack import XNNPACKQuantizer, get_symmetric_quantization_config
from etlab.quantize import Quantizer


class StaticInt8(Quantizer):
    """PT2E with the XNNPACK quantizer, activations and weights in int8."""

    name = "static-int8-of-tests"
    summary = "int8"

    def quantize(self, request):
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        quantizer = XNNPACKQuantizer()
        quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True))
        prepared = prepare_pt2e(request.exported.module(), quantizer)
        for sample in request.calibration:
            prepared(*sample)
        converted = convert_pt2e(prepared)
        return torch.export.export(converted, request.example_inputs, strict=False)


class Residual(nn.Module):
    """Convolutions with batch norm and ReLU, a residual, pooling, a linear layer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8))
        self.deep = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.wide = nn.Conv2d(8, 8, 1)
        self.more = nn.Conv2d(8, 8, 1)
        self.head = nn.Linear(8, 5)
        with torch.no_grad():
            self.stem[1].running_mean.uniform_(-0.3, 0.3)
            self.stem[1].running_var.uniform_(0.5, 2.0)
            self.deep.bias.add_(0.5)  # no channel is zero everywhere

    def forward(self, x):
        x = torch.relu(self.stem(x))
        x = x + self.more(torch.relu(self.wide(torch.relu(self.deep(x)))))
        return self.head(x.mean((2, 3)))


def samples(count=3):
    generator = torch.Generator().manual_seed(1)
    waves = torch.linspace(0, 6, 3 * 9 * 11).reshape(1, 3, 9, 11).sin()
    return [(waves + torch.rand(waves.shape, generator=generator) / 3,) for _ in range(count)]


def residual_run(*, is_quantized=False, partitioner="xnnpack"):
    quantizer = StaticInt8() if is_quantized else None
    data = samples()
    return etlab.export(
        Residual().eval(),
        data[0],
        quantizer=quantizer,
        calibration=data,
        partitioner=partitioner,
        name="residual",
    )
