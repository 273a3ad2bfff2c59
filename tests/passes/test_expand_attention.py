import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from etlab.exir import to_edge
from etlab.exir.passes.expand_attention import ExpandAttention
from etlab.testing_graphs import check_pass

torch.manual_seed(0)
attention = functional.scaled_dot_product_attention
Q, K, V = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 7, 8), torch.randn(2, 4, 7, 6)
BOOL_MASK = torch.rand(2, 1, 5, 7) > 0.4
BOOL_MASK[0, 0, 2] = False  # a row that sees nothing
FLOAT_MASK = torch.where(BOOL_MASK, torch.randn(2, 1, 5, 7), -math.inf)


class _Attention(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, q, k, v, *mask):
        return attention(q, k, v, *mask, **self.options)


CASES = {
    "plain": ({}, Q, K, V),
    "causal": ({"is_causal": True}, Q, K, V),
    "scaled": ({"scale": 0.3}, Q, K, V),
    "bool mask with a hidden row": ({}, Q, K, V, BOOL_MASK),
    "float mask with a hidden row": ({}, Q, K, V, FLOAT_MASK),
    "two-dimensional mask": ({}, Q, K, V, FLOAT_MASK[1, 0]),
    "three dimensions": ({}, Q[0], K[0], V[0]),
    "grouped heads": ({"enable_gqa": True}, Q, K[:, :2], V[:, :2]),
    "one batch of keys": ({}, Q, K[:1], V[:1]),
    "half": ({}, Q.half(), K.half(), V.half()),
    "bfloat16 with a mask": ({}, Q.bfloat16(), K.bfloat16(), V.bfloat16(), BOOL_MASK),
    "double": ({"is_causal": True}, Q.double(), K.double(), V.double()),
    "large values": ({}, Q * 1e4, K * 1e4, V),
}


@pytest.mark.parametrize("name", CASES)
def test_expansion_computes_what_eager_does(name):
    options, *inputs = CASES[name]
    edge, changed = check_pass(ExpandAttention(), _Attention(**options), *inputs)
    assert changed
    assert not any("scaled_dot" in str(node.target) for node in edge.graph.nodes)


def test_causal_mask_is_stored_once():
    class Twice(nn.Module):
        def forward(self, q):
            return attention(attention(q, q, q, is_causal=True), q, q, is_causal=True)

    edge, _ = check_pass(ExpandAttention(), Twice(), Q)
    masks = [t for t in edge.tensors.values() if t.dtype is torch.bool]
    assert len(masks) == 1


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_only_dropout_is_taken_apart_where_served_calls_stay(dropout):
    exported = torch.export.export(_Attention(dropout_p=dropout), (Q, K, V), strict=False)
    edge = to_edge(exported).edge_graph()
    assert ExpandAttention(keeps_served=True).run(edge).changed == (dropout > 0)
