"""Models between two conversions: whatever XNNPACK has integers for runs on them, in one part."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from interop.xnnpack import node_names
from torch import nn

import etlab

aten = torch.ops.aten


class Calls(nn.Module):
    """A function of the input and some layers."""

    def __init__(self, function, *layers):
        super().__init__()
        self.function, self.layers = function, nn.ModuleList(layers)

    def forward(self, x):
        return self.function(x, *self.layers)


def _norm(kind, channels):
    norm = kind(channels)
    norm.running_mean.uniform_(-0.5, 0.5)
    norm.running_var.uniform_(0.5, 2)
    norm.weight.data.uniform_(0.5, 1.5)
    return norm


def _smooth(seed, *shape):
    """Waves: neither noise nor constant."""
    size = torch.Size(shape).numel()
    return torch.sin(torch.arange(size) * (0.3 + 0.1 * seed)).reshape(shape) * 2


def _pair():
    return nn.Conv2d(3, 4, 1), nn.Conv2d(3, 4, 1)


def _halves(x, layer):
    left, right = layer(x).chunk(2, 1)
    return left + right


def _heads(x, layer):
    left, right = layer(x).unbind(1)
    return left * right


INTEGER_MODELS = {
    "conv1d and relu": (lambda: nn.Sequential(nn.Conv1d(3, 5, 3), nn.ReLU()), (2, 3, 9)),
    "depthwise conv1d": (lambda: nn.Sequential(nn.Conv1d(4, 4, 3, groups=4)), (2, 4, 9)),
    "same padding, in place": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, (4, 3), padding="same"), nn.ReLU(inplace=True)),
        (1, 3, 7, 7),
    ),
    "depthwise and hardtanh": (
        lambda: nn.Sequential(nn.Conv2d(4, 8, 3, groups=4), nn.Hardtanh(-0.5, 0.7)),
        (1, 4, 7, 7),
    ),
    "transposed": (
        lambda: nn.Sequential(nn.ConvTranspose2d(4, 6, 3, stride=2), nn.ReLU6()),
        (1, 4, 5, 5),
    ),
    "transposed in groups": (lambda: nn.ConvTranspose2d(4, 6, 3, groups=2), (1, 4, 5, 5)),
    "conv, norm and relu6": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), _norm(nn.BatchNorm2d, 4), nn.ReLU6()),
        (1, 3, 7, 7),
    ),
    "transposed and norm": (
        lambda: nn.Sequential(nn.ConvTranspose2d(4, 6, 3), _norm(nn.BatchNorm2d, 6)),
        (1, 4, 5, 5),
    ),
    "linear and norm": (
        lambda: nn.Sequential(nn.Linear(6, 4), _norm(nn.BatchNorm1d, 4), nn.ReLU()),
        (5, 6),
    ),
    "residual": (
        lambda: Calls(lambda x, a, b: F.relu(a(x) + b(x)) * 0.5 - a(x) * b(x), *_pair()),
        (1, 3, 5, 5),
    ),
    "sum in place": (
        lambda: Calls(lambda x, a, b: a(x).add_(b(x)).relu_(), *_pair()),
        (1, 3, 5, 5),
    ),
    "cat": (lambda: Calls(lambda x, a, b: torch.cat([a(x), x, b(x)], 1), *_pair()), (1, 3, 5, 5)),
    "pooling": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3),
            nn.MaxPool2d(2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(4, 3),
        ),
        (1, 3, 9, 9),
    ),
    "mean": (lambda: Calls(lambda x, a: a(x).mean((2, 3)), nn.Conv2d(3, 4, 1)), (1, 3, 5, 5)),
    "clamp": (
        lambda: Calls(lambda x, a: a(x).clamp(min=-0.2) + 1, nn.Conv2d(3, 4, 1)),
        (1, 3, 5, 5),
    ),
    "relu whose input is used again": (
        lambda: Calls(lambda x, a: F.relu(y := a(x)) + y, nn.Conv2d(3, 4, 1)),
        (1, 3, 5, 5),
    ),
    "sigmoid gate": (
        lambda: Calls(
            lambda x, a, b: (y := a(x)) * torch.sigmoid(b(F.adaptive_avg_pool2d(y, 1))),
            nn.Conv2d(3, 4, 1),
            nn.Conv2d(4, 4, 1),
        ),
        (1, 3, 5, 5),
    ),
    "tanh, leaky relu, elu": (
        lambda: nn.Sequential(
            nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 5), nn.LeakyReLU(0.2), nn.ELU()
        ),
        (2, 4),
    ),
    "views": (
        lambda: Calls(
            lambda x, a, b: b(
                a(x).reshape(2, 3, 2).transpose(1, 2).permute(0, 2, 1).flatten(1)[:, 1:5]
            ),
            nn.Linear(4, 6),
            nn.Linear(4, 3),
        ),
        (2, 4),
    ),
    "chunks": (lambda: Calls(_halves, nn.Conv2d(3, 4, 1)), (1, 3, 5, 5)),
    "unbind": (lambda: Calls(_heads, nn.Conv2d(3, 2, 1)), (1, 3, 5, 5)),
    "padding": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 1), nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(4, 3, 3, stride=2)
        ),
        (1, 3, 6, 6),
    ),
    "one layer twice": (lambda: Calls(lambda x, a: a(a(x) * 3), nn.Linear(4, 4)), (2, 4)),
    "dropout": (
        lambda: nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.ReLU(), nn.Linear(4, 3)),
        (2, 4),
    ),
}


def _export(model, shape, partitioner="xnnpack", quantizer="int8"):
    samples = [(_smooth(seed, *shape),) for seed in range(4)]
    return etlab.export(
        model.eval(), samples[0], quantizer=quantizer, calibration=samples, partitioner=partitioner
    )


def _check(run, *, slack=1.5):
    """Near float, and the device is as near as the simulation."""
    rows = run.parity(paths=["quantized", "native"], metrics=["sqnr_db"]).rows
    sqnr = {row.path: row.values["sqnr_db"] for row in rows if row.path != "eager"}
    assert sqnr["native"] > 28
    assert abs(sqnr["native"] - sqnr["quantized"]) < slack


@pytest.mark.parametrize("name", INTEGER_MODELS)
def test_everything_between_the_two_conversions_is_integers(name):
    torch.manual_seed(0)
    make, shape = INTEGER_MODELS[name]
    run = _export(make(), shape)
    names = node_names(run.delegated.edge_graph("forward"))
    assert names.count("Convert") == 2
    assert not run.delegation().rejected
    _check(run)


@pytest.mark.parametrize("name", ["residual", "cat", "sigmoid gate", "conv, norm and relu6"])
def test_without_a_delegate_the_same_program_runs(name):
    torch.manual_seed(0)
    make, shape = INTEGER_MODELS[name]
    run = _export(make(), shape, partitioner=None)
    _check(run, slack=1)


@pytest.mark.parametrize("layer", [nn.Softmax(-1), nn.GELU(), nn.LayerNorm(4), nn.Hardswish()])
def test_what_xnnpack_computes_with_floats_is_rounded_only_where_integers_follow(layer):
    torch.manual_seed(0)
    run = _export(nn.Sequential(nn.Linear(3, 4), layer), (2, 3))
    quantizers = [
        node.target
        for node in run.quantized.graph.nodes
        if "quantize_per_tensor" in str(node.target) and "dequantize" not in str(node.target)
    ]
    assert len(quantizers) == 2


@pytest.mark.parametrize(
    "between",
    [
        lambda x: torch.sqrt(x[:, :2] ** 2 + x[:, 2:] ** 2 + 1e-6),
        lambda x: torch.rsqrt((x**2).mean(1, keepdim=True) + 1e-6) @ torch.ones(1, 2),
        lambda x: torch.log(torch.exp(x[:, :2]) * torch.exp(x[:, 2:]) + 1),
    ],
)
def test_between_floats_sums_and_means_stay_floats(between):
    torch.manual_seed(0)
    layers = nn.Linear(3, 4), nn.Linear(2, 3)
    run = _export(Calls(lambda x, a, b: b(between(a(x))), *layers), (2, 3), partitioner=None)
    quantized = [
        node.args[0].target
        for node in run.quantized.graph.nodes
        if str(node.target).startswith("quantized_decomposed.quantize_per_tensor")
    ]
    assert not {aten.add.Tensor, aten.mul.Tensor, aten.mean.dim, aten.pow.Tensor_Scalar} & {
        *quantized
    }
    assert quantized.count(aten.linear.default) == 2


def test_index_arithmetic_stays_integer():
    class Picks(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            return self.layer(x)[:, (torch.arange(4) + 1) % 4]

    torch.manual_seed(0)
    _check(_export(Picks(), (2, 4)))


def test_ranges_of_zero_and_channels_of_zeros_stay_finite():
    class Dead(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 4, 1), nn.Conv2d(4, 4, 3, groups=4)

        def forward(self, x):
            dead = torch.relu(-torch.relu(self.first(x)) - 1)
            return self.second(self.first(x) + dead)

    torch.manual_seed(0)
    model = Dead()
    with torch.no_grad():
        model.second.weight[1] = 0
        model.second.weight[2] *= 1e-7
        model.second.bias[1] = 3.0
    _check(_export(model, (1, 3, 5, 5)))


def test_two_norms_behind_one_shared_layer_are_each_folded_into_their_own_weights():
    class Shares(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv2d(3, 3, 1, bias=False)
            self.norms = nn.ModuleList([_norm(nn.BatchNorm2d, 3), _norm(nn.BatchNorm2d, 3)])

        def forward(self, x):
            return self.norms[1](self.layer(self.norms[0](self.layer(x))))

    torch.manual_seed(0)
    run = _export(Shares(), (1, 3, 5, 5))
    assert node_names(run.delegated.edge_graph("forward")).count("Conv2d") == 2
    _check(run)


def test_a_norm_over_another_axis_than_the_layers_is_left():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), _norm(nn.BatchNorm1d, 4))
    _check(_export(model, (2, 4, 3)))
