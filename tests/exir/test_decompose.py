"""The walk from exported programs to edge graphs: operators of eager, one small module each."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from etlab.testing_graphs import check_lowering


class Calls(nn.Module):
    """A module of one function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


torch.manual_seed(0)
X = torch.randn(3, 5, 7)
Y = torch.randn(3, 5, 7)
VOLUME = torch.randn(1, 2, 5, 6, 7)
IMAGE = torch.randn(2, 6, 9, 11)
INTEGERS = torch.randint(-9, 9, (3, 5))
INDICES = torch.tensor([2, 0, 1])
BITS = torch.rand(3, 5, 7) > 0.5

FUNCTIONS = {
    "add a number": lambda: (lambda x: x + 3, X),
    "add a number of a higher kind": lambda: (lambda x: (x > 0) + 3 + (x + 1.5), INTEGERS),
    "subtract from a number": lambda: (lambda x: 3 - x, X),
    "divide by a number": lambda: (lambda x: x / 2.5, X),
    "floor divide": lambda: (lambda x: x // 3, INTEGERS),
    "remainder": lambda: (lambda x: x % 3, INTEGERS),
    "integer times float number": lambda: (lambda x: x * 1.5, INTEGERS),
    "integer plus float tensor": lambda: (lambda x, y: x + y[:, :, 0], INTEGERS, X),
    "power": lambda: (lambda x: x.abs() ** 1.5, X),
    "number to a power": lambda: (lambda x: 2.0**x, X),
    "compare with a number": lambda: (lambda x: (x > 0.1) | (x <= -1), X),
    "maximum with a number": lambda: (lambda x: torch.maximum(x, torch.tensor(0.1)), X),
    "where with numbers": lambda: (lambda x: torch.where(x > 0, x, 0.5), X),
    "where of two numbers": lambda: (lambda x: torch.where(x > 0, 1.0, -1.0), X),
    "masked fill": lambda: (lambda x, m: x.masked_fill(m, -2.0), X, BITS),
    "clamp": lambda: (lambda x: x.clamp(-0.5, 0.5), X),
    "clamp one side": lambda: (lambda x: x.clamp(min=0.1) + x.clamp_max(0.3), X),
    "shift": lambda: (lambda x: (x << 2) ^ (x >> 1), INTEGERS),
    "cast": lambda: (lambda x: x.to(torch.int32).float() + x.double(), X),
    "reshape": lambda: (lambda x: x.transpose(0, 2).reshape(7, -1), X),
    "flatten": lambda: (lambda x: x.flatten(1).unflatten(1, (5, 7)), X),
    "movedim": lambda: (lambda x: x.movedim(0, -1).swapaxes(0, 1), X),
    "squeeze": lambda: (lambda x: x[:, :1].squeeze().unsqueeze(-1).squeeze(-1), X),
    "chunk": lambda: (lambda x: torch.cat(x.chunk(2, dim=1)[::-1], dim=1), X),
    "split": lambda: (lambda x: x.split([2, 3], dim=1)[1], X),
    "unbind": lambda: (lambda x: x.unbind(1)[3], X),
    "stack": lambda: (lambda x, y: torch.stack([x, y], dim=1), X, Y),
    "expand and repeat": lambda: (lambda x: x[:, :1].expand(3, 4, 7).repeat(1, 2, 1), X),
    "repeat interleave": lambda: (lambda x: x.repeat_interleave(2, dim=1), X),
    "roll and flip": lambda: (lambda x: x.roll(2, 1).flip(0), X),
    "triangles": lambda: (lambda x: x.tril(1) + x.triu(-1), X),
    "index": lambda: (lambda x, i: x[i], X, INDICES),
    "index two dimensions": lambda: (lambda x, i: x[:, i, i], X, INDICES),
    "index select": lambda: (lambda x, i: x.index_select(1, i), X, INDICES),
    "index with bool": lambda: (lambda x: x[:, torch.tensor([True, False, True, True, False])], X),
    "gather": lambda: (lambda x: x.gather(1, torch.zeros(3, 2, 7, dtype=torch.long)), X),
    "scatter add": lambda: (
        lambda x, i: torch.zeros(4, 5, 7).index_add(0, i, x),
        X,
        INDICES,
    ),
    "mean and variance": lambda: (
        lambda x: x.mean() + x.var(1, keepdim=True) + x.std(2, keepdim=True),
        X,
    ),
    "sum of all": lambda: (lambda x: x.sum() + x.sum(-1), X),
    "all and any": lambda: (lambda x: (x > -9).all() & (x > 1).any(1), X),
    "argmax": lambda: (lambda x: (x.argmax(1), x.max(1), x.amin((0, 1))), X),
    "norm": lambda: (lambda x: x.norm(dim=-1), X),
    "normalize": lambda: (lambda x: functional.normalize(x, dim=1), X),
    "log sum exp": lambda: (lambda x: x.logsumexp(1), X),
    "softmax": lambda: (lambda x: x.softmax(-1) + x.log_softmax(1), X),
    "cumulative sum": lambda: (lambda x: x.cumsum(1), X),
    "top k": lambda: (lambda x: x.topk(3, dim=1), X),
    "matmul": lambda: (lambda x, y: x @ y.transpose(1, 2), X, Y),
    "matmul of vectors": lambda: (lambda x: x[0] @ x[0, 1], X),
    "einsum": lambda: (lambda x, y: torch.einsum("bij,bkj->bik", x, y), X, Y),
    "batched matmul of four": lambda: (lambda x: x[:, None] @ x[:, None].mT, X),
    "one hot": lambda: (lambda i: functional.one_hot(i, 5), INDICES),
    "linspace": lambda: (lambda x: x + torch.linspace(0, 1, 7), X),
    "meshgrid": lambda: (lambda x: torch.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"), X),
    "hardswish": lambda: (lambda x: functional.hardswish(x) + functional.hardsigmoid(x), X),
    "silu": lambda: (lambda x: functional.silu(x) + functional.mish(x) + functional.softplus(x), X),
    "elu": lambda: (lambda x: functional.elu(x) + functional.selu(x) + functional.celu(x), X),
    "gelu": lambda: (lambda x: functional.gelu(x) + functional.gelu(x, approximate="tanh"), X),
    "prelu": lambda: (lambda x: functional.prelu(x, torch.tensor([0.2])), X),
    "leaky relu": lambda: (lambda x: functional.leaky_relu(x) + functional.relu6(x), X),
    "glu": lambda: (lambda x: functional.glu(x[..., :6]), X),
    "interpolate nearest": lambda: (lambda x: functional.interpolate(x, scale_factor=2), IMAGE),
    "interpolate bilinear": lambda: (
        lambda x: functional.interpolate(x, size=(5, 6), mode="bilinear"),
        IMAGE,
    ),
    "average pooling": lambda: (lambda x: functional.avg_pool2d(x, 3, 2, 1), IMAGE),
    "max pooling": lambda: (lambda x: functional.max_pool2d(x, 3, 2, 1), IMAGE),
    "max pooling 1d": lambda: (lambda x: functional.max_pool1d(x, 2), X),
    "average pooling 3d": lambda: (
        lambda x: (
            functional.avg_pool3d(x, (2, 3, 2), (1, 2, 2), (1, 1, 0), True, False)
            + functional.avg_pool3d(x, (2, 3, 2), (1, 2, 2), (1, 1, 0), True, True, 7)
        ),
        VOLUME,
    ),
    "max pooling 3d": lambda: (
        lambda x: functional.max_pool3d(x.round(), 3, 2, 1, 2, return_indices=True),
        VOLUME,
    ),
    "adaptive pooling 3d": lambda: (
        lambda x: (
            functional.adaptive_avg_pool3d(x, (2, 3, 1)),
            functional.adaptive_max_pool3d(x.round(), (2, 3, 2), return_indices=True),
        ),
        VOLUME,
    ),
    **{
        f"bags, {mode}, {options}": lambda mode=mode, options=options: (
            lambda i, o, w: functional.embedding_bag(i, w, o, mode=mode, **options),
            torch.tensor([1, 2, 4, 0, 4, 3, 2, 4]),
            torch.tensor([0, 3, 3, 6]),
            torch.randn(5, 3),
        )
        for mode in ("sum", "mean", "max")
        for options in ({}, {"padding_idx": 4}, {"include_last_offset": True})
    },
    "stable sort of equal elements and NaN": lambda: (
        lambda x: (
            x.sort(dim=1, stable=True),
            x.sort(dim=0, descending=True, stable=True),
        ),
        torch.tensor([[1.0, math.nan, 0.0, 1.0, -0.5], [0.0, 1.0, math.nan, math.nan, math.inf]]),
    ),
    "sort of bool": lambda: (lambda x: (x > 0).sort(dim=1, stable=True), X),
    "running product": lambda: (lambda x: (x.cumprod(1), x[0, 0, 0].cumprod(0)), X),
    "average pooling 1d": lambda: (lambda x: functional.avg_pool1d(x, 2), X),
    "adaptive pooling to one": lambda: (lambda x: functional.adaptive_avg_pool2d(x, 1), IMAGE),
    "adaptive pooling": lambda: (lambda x: functional.adaptive_avg_pool2d(x, (4, 5)), IMAGE),
    "adaptive pooling 1d": lambda: (lambda x: functional.adaptive_avg_pool1d(x, 3), X),
    "pad constant": lambda: (lambda x: functional.pad(x, (1, 2), value=3.0), X),
    "pad by less than nothing": lambda: (lambda x: functional.pad(x, (-1, 2, 1, -2)), IMAGE),
    "pad reflect": lambda: (lambda x: functional.pad(x, (1, 2), mode="reflect"), X),
    "pad replicate": lambda: (lambda x: functional.pad(x, (1, 2, 0, 1), mode="replicate"), IMAGE),
    "pad circular": lambda: (lambda x: functional.pad(x, (1, 2), mode="circular"), X),
    "pixel shuffle": lambda: (lambda x: functional.pixel_shuffle(x[:, :4], 2), IMAGE),
    "group norm": lambda: (lambda x: functional.group_norm(x, 3), IMAGE),
    "instance norm": lambda: (lambda x: functional.instance_norm(x), IMAGE),
    "layer norm": lambda: (lambda x: functional.layer_norm(x, (5, 7)), X),
    "rms norm": lambda: (lambda x: functional.rms_norm(x, (7,)), X),
    "unfold": lambda: (lambda x: x.unfold(2, 3, 2), X),
    "im2col": lambda: (lambda x: functional.unfold(x, 3), IMAGE),
    "diagonal": lambda: (lambda x: x.diagonal(0, 1, 2), X),
    "outer": lambda: (lambda x: torch.outer(x[0, 0], x[0, 1]), X),
    "cosine similarity": lambda: (lambda x, y: functional.cosine_similarity(x, y), X, Y),
    "distances": lambda: (lambda x, y: torch.cdist(x, y), X, Y),
    "dropout in inference": lambda: (lambda x: functional.dropout(x, training=False), X),
    "attention": lambda: (
        lambda x, y: functional.scaled_dot_product_attention(x, y, y, is_causal=True),
        X,
        Y,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_edge_graph_computes_what_eager_does(name):
    function, *inputs = FUNCTIONS[name]()
    check_lowering(Calls(function), *inputs)


MODULES = {
    "mlp": lambda: (nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 3)), X),
    "convnet": lambda: (
        nn.Sequential(nn.Conv2d(6, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()),
        IMAGE,
    ),
    "grouped convolution": lambda: (nn.Conv2d(6, 6, 3, groups=3, padding="same"), IMAGE),
    "convolution without a batch": lambda: (nn.Conv2d(6, 4, 3), IMAGE[0]),
    "transposed convolution": lambda: (nn.ConvTranspose2d(6, 4, 3, stride=2, groups=2), IMAGE),
    "convolution 1d": lambda: (nn.Conv1d(5, 4, 3, dilation=2), X),
    "embedding": lambda: (nn.Embedding(4, 3, padding_idx=0), INDICES),
    "gru": lambda: (nn.GRU(7, 4, batch_first=True), X),
    "lstm": lambda: (nn.LSTM(7, 4, num_layers=2, bidirectional=True), X),
    "multi-head attention": lambda: (nn.TransformerEncoderLayer(7, 1, 9, batch_first=True), X),
}


@pytest.mark.parametrize("name", MODULES)
def test_layers_lower_to_what_eager_computes(name):
    torch.manual_seed(1)
    module, *inputs = MODULES[name]()
    check_lowering(module, *inputs)
