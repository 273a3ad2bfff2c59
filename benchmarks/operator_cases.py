"""The operator calls of `benchmarks/operators.py`, at the sizes of small vision and text models."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as nn

Case = tuple[str, Callable[..., Any], Callable[[], tuple[Tensor, ...]]]


def case(name: str, function: Callable[..., Any], *shapes: tuple[int, ...]) -> Case:
    """`function` of normal float32 tensors."""
    return name, function, lambda: tuple(torch.randn(*shape) for shape in shapes)


def channels_last(name: str, function: Callable[..., Any], *shapes: tuple[int, ...]) -> Case:
    """The same with the first tensor in channels-last layout."""

    def make() -> tuple[Tensor, ...]:
        first, *others = (torch.randn(*shape) for shape in shapes)
        return first.to(memory_format=torch.channels_last), *others

    return name, function, make


def indexed(name: str, function: Callable[..., Any], count: int, *shape: int) -> Case:
    """`function` of `count` row numbers and a table."""
    return name, function, lambda: (torch.randint(0, shape[0], (count,)), torch.randn(*shape))


PLANE = (256, 1024)
IMAGE = (1, 64, 56, 56)
CASES: list[Case] = [
    case("add", torch.add, (1, 64, 112, 112), (1, 64, 112, 112)),
    case("add a row", torch.add, (128, 1536), (1536,)),
    case("mul channels", torch.mul, (1, 96, 56, 56), (1, 96, 1, 1)),
    case("sub a number", lambda x: x - 1.5, (1, 3, 224, 224)),
    case("div", torch.div, PLANE, PLANE),
    case("square", lambda x: x**2, PLANE),
    case("exp", torch.exp, PLANE),
    case("log of abs + 1", lambda x: torch.log(x.abs() + 1), PLANE),
    case("sqrt of abs", lambda x: torch.sqrt(x.abs()), PLANE),
    case("tanh", torch.tanh, PLANE),
    case("sigmoid", torch.sigmoid, PLANE),
    case("sin", torch.sin, PLANE),
    case("gelu", nn.gelu, (128, 1536)),
    case("gelu tanh", lambda x: nn.gelu(x, approximate="tanh"), (128, 1536)),
    case("relu", torch.relu, (1, 64, 112, 112)),
    case("hardswish", nn.hardswish, (1, 96, 56, 56)),
    case("clamp", lambda x: x.clamp(-0.5, 0.5), (1, 96, 56, 56)),
    case("where", lambda x, y: torch.where(x > 0, x, y), PLANE, PLANE),
    case("masked fill", lambda x, y: x.masked_fill(y > 0, -1e4), PLANE, PLANE),
    case("sum rows", lambda x: x.sum(-1), (256, 4096)),
    case("sum columns", lambda x: x.sum(0), (4096, 256)),
    case("mean plane", lambda x: x.mean((2, 3)), (1, 1280, 7, 7)),
    case("amax rows", lambda x: x.amax(-1), (256, 4096)),
    case("argmax rows", lambda x: x.argmax(-1), (256, 4096)),
    case("max with index", lambda x: x.max(-1), (256, 4096)),
    case("cumsum", lambda x: x.cumsum(-1), (64, 4096)),
    case("var", lambda x: x.var(-1), PLANE),
    case("topk", lambda x: x.topk(5, -1), (16, 1000)),
    case("softmax", lambda x: x.softmax(-1), (12, 128, 128)),
    case("log softmax", lambda x: x.log_softmax(-1), (32, 30522)),
    case("layer norm", lambda x: nn.layer_norm(x, (384,)), (128, 384)),
    case("group norm", lambda x: nn.group_norm(x, 8), IMAGE),
    case("mm", torch.mm, (256, 512), (512, 512)),
    case("bmm", torch.bmm, (12, 128, 32), (12, 32, 128)),
    case("linear", nn.linear, (128, 384), (1536, 384)),
    case("linear, one row", nn.linear, (1, 384), (1536, 384)),
    case("attention", nn.scaled_dot_product_attention, *[(1, 12, 128, 32)] * 3),
    case("conv 3x3", lambda x, w: nn.conv2d(x, w, padding=1), IMAGE, (64, 64, 3, 3)),
    channels_last(
        "conv 3x3 channels last", lambda x, w: nn.conv2d(x, w, padding=1), IMAGE, (64, 64, 3, 3)
    ),
    case("conv 1x1", nn.conv2d, (1, 96, 56, 56), (24, 96, 1, 1)),
    case("depthwise", lambda x, w: nn.conv2d(x, w, padding=1, groups=64), IMAGE, (64, 1, 3, 3)),
    case(
        "transposed conv",
        lambda x, w: nn.conv_transpose2d(x, w, stride=2),
        (1, 64, 28, 28),
        (64, 32, 2, 2),
    ),
    case("max pool", lambda x: nn.max_pool2d(x, 3, 2, 1), (1, 64, 112, 112)),
    case("avg pool", lambda x: nn.avg_pool2d(x, 2), (1, 64, 112, 112)),
    channels_last("max pool channels last", lambda x: nn.max_pool2d(x, 3, 2, 1), IMAGE),
    case("bilinear", lambda x: nn.interpolate(x, scale_factor=2, mode="bilinear"), (1, 32, 28, 28)),
    case("permute", lambda x: x.permute(0, 2, 3, 1).contiguous(), (1, 96, 56, 56)),
    case("cat channels", lambda x, y: torch.cat([x, y], 1), IMAGE, (1, 32, 56, 56)),
    case("pad", lambda x: nn.pad(x, (1, 1, 1, 1)), IMAGE),
    case("slice", lambda x: x[:, :, 1::2].contiguous(), IMAGE),
    indexed("embedding", nn.embedding, 128, 30522, 384),
    indexed("index rows", lambda rows, table: table[rows], 128, 1000, 384),
    case("gather", lambda x: torch.gather(x, 1, (x > 0).long()), PLANE),
]
