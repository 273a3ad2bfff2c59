"""Symbolic sizes and control flow in edge graphs."""

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

from etlab.testing_graphs import check_lowering

torch.manual_seed(0)


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


LENGTH = Dim("length", min=3, max=32)

DYNAMIC = {
    "flatten": lambda x: x.flatten(1) + 1,
    "mean": lambda x: x.mean(1),
    "normalize": lambda x: functional.normalize(x, dim=1),
    "attention": lambda x: functional.scaled_dot_product_attention(x, x, x, is_causal=True),
    "positions": lambda x: x + torch.arange(x.shape[1])[:, None],
    "zeros": lambda x: torch.cat([x, torch.zeros(x.shape[0], x.shape[1] + 2, 6)], dim=1),
    "reshape": lambda x: x.reshape(x.shape[0] * x.shape[1], 2, 3).transpose(1, 2).reshape(-1, 6),
    "slice": lambda x: x[:, 1:],
    "chunk": lambda x: x.chunk(2, dim=2)[1],
    "matmul": lambda x: x @ x.mT,
    "std": lambda x: x.std(1) * x.numel(),
    "silu": lambda x: functional.silu(x),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_symbolic_length_computes_what_eager_does(name):
    x = torch.randn(2, 5, 6)
    others = [(torch.randn(2, length, 6),) for length in (3, 11, 32)]
    check_lowering(Calls(DYNAMIC[name]), x, more_inputs=others, dynamic_shapes=(({1: LENGTH},),))


def test_batch_and_length_symbolic():
    def function(x):
        heads = x.reshape(x.shape[0], x.shape[1], 2, 3).transpose(1, 2)
        mixed = functional.scaled_dot_product_attention(heads, heads, heads)
        return mixed.transpose(1, 2).reshape(x.shape[0], x.shape[1], 6)

    batch = Dim("batch", min=1, max=8)
    others = [(torch.randn(b, n, 6),) for b, n in ((1, 3), (8, 32), (3, 7))]
    check_lowering(
        Calls(function),
        torch.randn(2, 5, 6),
        more_inputs=others,
        dynamic_shapes=(({0: batch, 1: LENGTH},),),
    )


def test_cond_lowers_both_branches():
    def function(x):
        weight = torch.tensor([1.0, 2.0, 3.0])
        return torch.cond(
            x.sum() > 0,
            lambda x: functional.silu(x) * weight,
            lambda x: torch.cat([x[1:], x[:1]]),
            (x,),
        )

    edge = check_lowering(Calls(function), torch.ones(4, 3), more_inputs=[(-torch.ones(4, 3),)])
    assert len(edge.submodules) == 2


def test_regions_without_gradients_are_inlined():
    def function(x):
        with torch.no_grad():
            y = x * 2
        return y + x

    edge = check_lowering(Calls(function), torch.randn(3))
    assert not edge.submodules


def test_nonzero_has_a_size_known_only_at_run_time():
    def function(x):
        places = torch.nonzero(x)
        return places, places.shape[0] + 1

    edge = check_lowering(Calls(function), torch.tensor([0.0, 1, 2]))
    assert any("nonzero" in str(node.target) for node in edge.graph.nodes)


def test_item_feeds_a_slice():
    def function(x, position):
        start = position.item()
        torch._check(start >= 0)
        torch._check(start <= 3)
        return x.narrow(0, start, 2) * 2

    check_lowering(
        Calls(function),
        torch.randn(5, 3),
        torch.tensor(1),
        more_inputs=[(torch.randn(5, 3), torch.tensor(3))],
    )


def test_a_multiple_of_a_size_is_split_into_parts_of_that_size() -> None:
    class Halves(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first, second = x.chunk(2)
            return first * second

    shapes = {"x": {0: 2 * Dim("half", max=5)}}
    check_lowering(
        Halves(),
        torch.randn(4, 3),
        more_inputs=[(torch.randn(10, 3),)],
        dynamic_shapes=shapes,
    )
