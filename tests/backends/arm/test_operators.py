"""Every operator that goes to TOSA: the reference model's integers, and what floats would give."""

import functools

import pytest
import torch
from exir.lowering import Function
from torch import nn
from tosa_checks import check_against_reference_model, delegates, lowered_run, waves

from etlab.backends.arm.ethosu.compile_spec import EthosUCompileSpec
from etlab.backends.arm.ethosu.limits import why_not
from etlab.backends.arm.ethosu.vela import compile_graph
from etlab.backends.arm.format.file import read_graph
from etlab.backends.arm.operators.registry import all_rules

functional = nn.functional
pytest.importorskip("tosa_reference_model", reason="tosa-tools is not installed")


def layer(module, *inputs):
    return lambda: (module(), inputs)


def function(call, *inputs):
    return lambda: (Function(call), inputs)


PICTURE = waves(2, 6, 9, 7)
SEQUENCE = waves(2, 4, 11)
MATRIX = waves(3, 5)

CASES = {
    "convolution": layer(lambda: nn.Conv2d(6, 5, 3, padding=1), PICTURE),
    "convolution_with_strides": layer(
        lambda: nn.Sequential(nn.Conv2d(6, 5, (3, 2), stride=(2, 3), padding=(1, 0)), nn.ReLU6()),
        PICTURE,
    ),
    "convolution_whose_stride_leaves_rows": layer(lambda: nn.Conv2d(6, 5, 2, stride=3), PICTURE),
    "convolution_with_dilation": layer(lambda: nn.Conv2d(6, 4, 3, dilation=2, bias=False), PICTURE),
    "convolution_of_one_channel": layer(lambda: nn.Conv2d(6, 1, 3), PICTURE),
    "convolution_in_groups": layer(lambda: nn.Conv2d(6, 8, 3, groups=2), PICTURE),
    "convolution_behind_zeros": layer(
        lambda: nn.Sequential(nn.Conv2d(6, 4, 1), nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(4, 3, 3)),
        PICTURE,
    ),
    "convolution_behind_zeros_of_its_own_size": layer(
        lambda: nn.Sequential(nn.Conv2d(6, 4, 1), nn.ZeroPad2d(3), nn.Conv2d(4, 3, 3, 2, 1)),
        PICTURE,
    ),
    "sequence_behind_zeros": layer(
        lambda: nn.Sequential(nn.Conv1d(4, 4, 1), nn.ZeroPad1d((2, 1)), nn.Conv1d(4, 3, 3)),
        SEQUENCE,
    ),
    "depthwise": layer(lambda: nn.Conv2d(6, 6, 3, groups=6, stride=2, padding=1), PICTURE),
    "depthwise_with_multiplier": layer(lambda: nn.Conv2d(6, 12, 3, groups=6), PICTURE),
    "transposed": layer(
        lambda: nn.ConvTranspose2d(6, 5, 3, stride=2, padding=1, output_padding=1), PICTURE
    ),
    "sequence": layer(lambda: nn.Conv1d(4, 5, 3, padding=1, stride=2), SEQUENCE),
    "linear": layer(lambda: nn.Sequential(nn.Linear(5, 4), nn.ReLU()), MATRIX),
    "linear_of_rows": layer(lambda: nn.Linear(11, 3), SEQUENCE),
    "sum": function(lambda x, y: x + y * 0.1, PICTURE, waves(2, 6, 9, 7, phase=1.0)),
    "sum_with_itself": function(lambda x: torch.relu(x + x), PICTURE),
    "sum_that_broadcasts": function(lambda x, y: x + y, PICTURE, waves(6, 1, 7)),
    "sum_across_orders": layer(
        lambda: Between(lambda y, x: y + x.mean((2, 3), keepdim=True)), PICTURE
    ),
    "difference": function(lambda x, y: x - y, PICTURE, waves(2, 6, 9, 7, phase=2.0)),
    "product": function(lambda x, y: torch.relu(x * y), PICTURE, waves(2, 6, 1, 1, phase=1.0)),
    "square": function(lambda x: x * x, PICTURE),
    "maximum": function(torch.maximum, MATRIX, waves(3, 5, phase=1.0)),
    "minimum": function(torch.minimum, MATRIX, waves(3, 5, phase=1.0)),
    "limits": function(lambda x: torch.clamp(x + x, -0.3, 0.7), MATRIX),
    "one_limit": function(lambda x: torch.clamp(x.reshape(5, 3), max=0.5) * 2, MATRIX),
    "max_pooling": layer(lambda: nn.MaxPool2d(3, 2, padding=1), PICTURE),
    "max_pooling_ceiling": layer(lambda: nn.MaxPool2d(2, 2, ceil_mode=True), PICTURE),
    "average_pooling": layer(lambda: nn.AvgPool2d(3, 2), PICTURE),
    "average_pooling_with_padding": layer(lambda: nn.AvgPool2d(3, 1, padding=1), PICTURE),
    "average_pooling_inside": layer(
        lambda: nn.AvgPool2d(3, 2, padding=1, count_include_pad=False), PICTURE
    ),
    "mean_of_pictures": function(lambda x: x.mean((2, 3)), PICTURE),
    "mean_of_rows": function(lambda x: x.mean(2, keepdim=True), PICTURE),
    "mean_of_channels": function(lambda x: x.mean(1), PICTURE),
    "total": function(lambda x: x.sum((0, 2)), SEQUENCE),
    "adaptive": layer(lambda: nn.AdaptiveAvgPool2d(1), PICTURE),
    "joined": function(lambda x, y: torch.cat([x, y, x], 1) + 1, PICTURE, waves(2, 3, 9, 7)),
    "orders": layer(
        lambda: Between(lambda y, x: y.permute(0, 2, 3, 1).transpose(0, 3)[1:, :, 2]), PICTURE
    ),
    "shapes": layer(lambda: Between(lambda y, x: y.flatten(1).unsqueeze(1)[:, 0, 5:-3]), PICTURE),
    "transposed_matrix": layer(lambda: nn.Sequential(nn.Linear(5, 4), Function(torch.t)), MATRIX),
    "squeezed": layer(
        lambda: Between(lambda y, x: y.mean((2, 3), keepdim=True).squeeze((2, 3)).unsqueeze(0)),
        PICTURE,
    ),
    "softmax": function(lambda x: torch.softmax(x * 3, -1), waves(3, 37)),
    "softmax_of_channels": layer(lambda: Between(lambda y, x: torch.softmax(y, 1)), PICTURE),
    "softmax_of_one": function(lambda x: torch.softmax(x, 1), waves(3, 1, 2)),
    "matrices": function(torch.bmm, SEQUENCE, waves(2, 11, 3)),
    "matrix_by_its_own": function(lambda x: x @ x.t(), MATRIX),
    "padding": layer(lambda: Between(lambda y, x: functional.pad(y, (1, 2, 0, 3))), PICTURE),
    "repeated": layer(
        lambda: Between(lambda y, x: y.mean((2, 3), keepdim=True).expand(2, 6, 3, 7)), PICTURE
    ),
    **{
        name: function(call, MATRIX)
        for name, call in {
            "absolute": torch.abs,
            "cosine": torch.cos,
            "elu": lambda x: functional.elu(x, 0.7),
            "erf": torch.erf,
            "exponential": torch.exp,
            "gelu": functional.gelu,
            "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
            "hard_sigmoid": functional.hardsigmoid,
            "hard_swish": functional.hardswish,
            "leaky": lambda x: functional.leaky_relu(x, 0.2),
            "logarithm": lambda x: torch.log(torch.abs(x) + 1),
            "negative": lambda x: -x,
            "power": lambda x: x**3,
            "reciprocal": lambda x: 1 / (x * x + 1),
            "reciprocal_root": lambda x: torch.rsqrt(x * x + 1),
            "root": lambda x: torch.sqrt(torch.abs(x)),
            "scaled": lambda x: (x * 0.3 + 1.5) / 4 - 0.25,
            "sigmoid": torch.sigmoid,
            "silu": functional.silu,
            "sine": torch.sin,
            "tanh": torch.tanh,
        }.items()
    },
}


class Between(nn.Module):
    """Something behind a convolution, whose channels lie last."""

    def __init__(self, call):
        super().__init__()
        torch.manual_seed(1)
        self.first, self.call = nn.Conv2d(6, 6, 3, padding=1), call

    def forward(self, x):
        return self.call(self.first(x), x)


@functools.cache
def run_of(case):
    torch.manual_seed(0)
    module, inputs = CASES[case]()
    return lowered_run(module, *inputs), inputs


@pytest.mark.parametrize("case", CASES)
def test_integers_are_the_reference_model_s_and_near_the_floats(case):
    run, inputs = run_of(case)
    (delegate,) = delegates(run)
    left = {row.operator for row in run.delegation().rejected}
    assert all("quantize_per_tensor" in name for name in left), left
    check_against_reference_model(delegate.processed_bytes)
    simulated, native = run.run(inputs, path="quantized"), run.run(inputs)
    spread = (simulated.max() - simulated.min()).item() / 100
    assert (simulated - native).abs().max().item() <= 3 * spread


@pytest.mark.parametrize("case", CASES)
def test_the_smallest_npu_takes_what_it_is_not_said_to_refuse(case):
    pytest.importorskip("ethosu", reason="ethos-u-vela is not installed")
    spec = EthosUCompileSpec("ethos-u55-32")
    for delegate in delegates(run_of(case)[0]):
        if why_not(read_graph(delegate.processed_bytes), spec.family) is None:
            assert compile_graph(delegate.processed_bytes, spec).estimate.cycles > 0


def test_every_rule_has_a_case():
    seen = set()
    for case in CASES:
        for delegate in delegates(run_of(case)[0]):
            seen |= {str(node.target) for node in delegate.original.graph.nodes}
    assert sorted(set(all_rules()) - seen) == []
