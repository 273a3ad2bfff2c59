"""Every operator that the partitioner takes, in ExecuTorch's own runtime."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from interop.xnnpack import check, node_names
from torch import nn

from etlab.backends.xnnpack.operators.registry import all_rules


def _random(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


X4, X3, X2 = _random(2, 4, 7, 9), _random(2, 4, 9), _random(3, 8)
MATRIX, VECTOR = _random(8, 5, seed=1), _random(5, seed=2)

UNARY = {
    "abs": torch.abs,
    "ceil": torch.ceil,
    "cos": torch.cos,
    "exp": torch.exp,
    "floor": torch.floor,
    "log": lambda x: (x.abs() + 0.1).log(),
    "neg": torch.neg,
    "rsqrt": lambda x: (x.abs() + 0.1).rsqrt(),
    "sigmoid": torch.sigmoid,
    "sin": torch.sin,
    "sqrt": lambda x: x.abs().sqrt(),
    "tanh": torch.tanh,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "silu": F.silu,
    "elu": lambda x: F.elu(x, 0.5),
    "gelu": F.gelu,
    "gelu_of_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "relu": torch.relu,
    "relu6": F.relu6,
    "clamp_min": lambda x: x.clamp(min=-0.5),
    "clamp": lambda x: x.clamp(-1, 0.5),
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "to_half_and_back": lambda x: (x.half() * 2).float(),
    "copied_output": lambda x: (x * 2, x),
    "same_output_twice": lambda x: [x + 1] * 2,
}

BINARY = {
    "add": torch.add,
    "add_alpha": lambda x, y: torch.add(x, y, alpha=0.5),
    "sub": torch.sub,
    "sub_alpha": lambda x, y: torch.sub(x, y, alpha=2),
    "mul": torch.mul,
    "div": lambda x, y: x / (y.abs() + 0.5),
    "minimum": torch.minimum,
    "maximum": torch.maximum,
    "numbers": lambda x, y: (x * 2 + 1 - y / 3, 1 - x, torch.rsub(y, 2, alpha=3)),
    "reciprocal": lambda x, y: 1 / (x.abs() + 1) + 2 / (y.abs() + 1),
}

SHAPE = {
    "reshape": lambda x: (x * 2).reshape(8, -1),
    "unsqueeze": lambda x: (x * 2).unsqueeze(2),
    "squeeze": lambda x: (x[:, :1] * 2).squeeze(1),
    "permute": lambda x: (x * 2).permute(0, 3, 1, 2),
    "transpose": lambda x: (x * 2).transpose(1, -1),
    "slice": lambda x: x[:, 1:-1, :-2] * 2,
    "select": lambda x: x[:, -1] * 2,
    "split": lambda x: [part * 2 for part in x.split([1, 3], 1)],
    "chunk": lambda x: [part * 2 for part in x.chunk(2, 1)],
    "unbind": lambda x: [part * 2 for part in x.unbind(1)],
    "pad": lambda x: F.pad(x, (1, 2, 0, 3), value=-2.0) * 2,
    "cat": lambda x: torch.cat([x, x + 1], -1),
    "cat_of_seven": lambda x: torch.cat([x + i for i in range(7)], 1),
    "stack": lambda x: torch.stack([x, x + 1], 2),
    "glu": lambda x: F.glu(x, 1),
    "matrix_transpose": lambda x: (x[0, 0] * 2).t(),
}

POOLING = {
    "max_pool": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_pool_dilated": lambda x: F.max_pool2d(x, (2, 3), 1, dilation=2),
    "max_pool_ceil": lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    "max_pool_unbatched": lambda x: F.max_pool2d(x[0], 2),
    "average_pool": lambda x: F.avg_pool2d(x, (2, 3)),
    "average_pool_counting_padding": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "average_pool_not_counting": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "global_average": lambda x: F.adaptive_avg_pool2d(x, 1),
    "mean": lambda x: x.mean((2, 3)),
    "mean_of_tokens": lambda x: (x[0].mean(1), x[0].mean(1, keepdim=True)),
    "mean_of_a_sequence": lambda x: (x[0].mean(-1), x[0].mean(2, keepdim=True)),
    "largest_of_rows": lambda x: x.amax(2),
    "largest_of_pictures": lambda x: x.amax((2, 3), keepdim=True),
    "largest_values": lambda x: x.max(3).values,
    "resize_twice": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "resize_corners": lambda x: F.interpolate(x, (5, 6), mode="bilinear", align_corners=True),
    "softmax_last": lambda x: x.softmax(-1),
    "softmax_channels": lambda x: x.softmax(1),
    "softmax_rows": lambda x: x.softmax(2),
}


@pytest.mark.parametrize("name", UNARY)
def test_function_of_elements(name):
    check(UNARY[name], X4)


@pytest.mark.parametrize("name", BINARY)
def test_function_of_two_tensors(name):
    check(BINARY[name], X4, _random(4, 1, 9, seed=3))


@pytest.mark.parametrize("name", [*SHAPE, *POOLING])
def test_function_of_pictures(name):
    check({**SHAPE, **POOLING}[name], X4)


@pytest.mark.parametrize("shape", [(), (9,), (7, 1), (4, 7, 9), (2, 1, 1, 9)])
def test_broadcasting_is_the_same_channels_last(shape):
    check(lambda x, y: (F.max_pool2d(x, 3, 1, 1) + y) * y, X4, _random(*shape))


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


LAYERS = {
    "linear": (nn.Linear(8, 3), X2),
    "linear_without_bias": (nn.Linear(9, 3, bias=False), X4),
    "linear_of_a_vector": (nn.Linear(8, 3), X2[0]),
    "convolution": (nn.Conv2d(4, 6, 3, (1, 2), (1, 0), (1, 2), groups=2), X4),
    "pointwise": (nn.Conv2d(4, 6, 1, bias=False), X4),
    "depthwise": (nn.Conv2d(4, 8, 3, padding=1, groups=4), X4),
    "one_channel": (nn.Conv2d(1, 8, 3, padding="same"), X4[:, :1].clone()),
    "unbatched": (nn.Conv2d(4, 6, 2), X4[0].clone()),
    "transposed": (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1), X4),
    "transposed_groups": (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2, dilation=2), X4),
    "sequence": (nn.Conv1d(4, 6, 3, 2, 1, dilation=2, groups=2), X3),
    "sequence_transposed": (nn.ConvTranspose1d(4, 6, 3, 2, 1, 1), X3),
    "batch_norm": (nn.BatchNorm2d(4), X4),
    "linear_and_norm_of_another_axis": (nn.Sequential(nn.Linear(9, 5), nn.BatchNorm1d(4)), X3),
    "transposed_groups_and_norm": (
        nn.Sequential(nn.ConvTranspose2d(4, 6, 3, groups=2), nn.BatchNorm2d(6)),
        X4,
    ),
    "prelu": (nn.PReLU(4, 0.3), X4),
    "prelu_of_one_slope": (nn.PReLU(), X3),
    "encoder": (SelfAttention(), X2[None]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name):
    torch.manual_seed(0)
    layer, x = LAYERS[name]
    for module in layer.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            module.running_mean.uniform_(-1, 1)
            module.running_var.uniform_(0.5, 2)
    check(layer, x)


def test_products_with_constants_and_without():
    def function(x):
        return (
            torch.addmm(VECTOR, x, MATRIX),
            torch.addmm(x[:3, :3], x, x.t()),
            x @ MATRIX,
            x @ x.t(),
            torch.bmm(x[None], MATRIX[None]),
        )

    check(function, X2)


def test_attention_with_constant_masks():
    mask = torch.ones(7, 7).tril() > 0
    nothing_in_a_row = mask.clone()
    nothing_in_a_row[2] = False

    def function(x):
        attention = F.scaled_dot_product_attention
        return (
            attention(x, x, x, is_causal=True),
            attention(x, x, x, mask, scale=0.3),
            attention(x, x, x, mask.float()),
            attention(x, x, x, nothing_in_a_row),
            attention(x, x, x, mask | True),
        )

    check(function, X4)


def test_attention_mask_that_hides_a_row_at_run_time_gives_zeros():
    mask = torch.rand(2, 1, 7, 7, generator=torch.Generator().manual_seed(0)) > 0.5
    mask[0, 0, 2] = False
    edge = check(
        lambda x, mask: F.scaled_dot_product_attention(x, x, x, mask), X4, mask, is_whole=False
    )
    assert "Softmax" in node_names(edge)
    additive = torch.zeros(2, 1, 7, 7).masked_fill(~mask, float("-inf"))
    check(
        lambda x, mask: F.scaled_dot_product_attention(x, x, x, mask), X4, additive, is_whole=False
    )


@pytest.mark.parametrize("function", [F.hardswish, lambda x: F.max_pool2d(x * 2 + 1, 2)])
def test_half_precision(function):
    check(function, X4.half())


def test_half_precision_layers():
    layers = nn.Sequential(nn.Conv2d(4, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(210, 3))
    check(layers.half(), X4.half())


def test_every_rule_is_for_another_operator_and_says_where_it_stands():
    rules = all_rules()
    assert "aten.relu.default" in rules
    assert all(
        rule.where.startswith("etlab.backends.xnnpack.operators.") for rule in rules.values()
    )
