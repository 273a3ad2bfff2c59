import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from etlab.backends.xnnpack.attention_masks import PrepareAttentionMasks
from etlab.testing_graphs import check_pass

aten = torch.ops.aten
X = torch.randn(2, 3, 5, 4, generator=torch.Generator().manual_seed(0))
SOME = torch.rand(2, 1, 5, 5, generator=torch.Generator().manual_seed(0)) > 0.5


class Attention(nn.Module):
    def forward(self, x, mask):
        y = F.scaled_dot_product_attention(x, x, x, mask)
        return F.scaled_dot_product_attention(y, x, x, mask)


class Constant(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, x):
        return F.scaled_dot_product_attention(x, x, x, self.mask)


def _targets(edge):
    return [node.target for node in edge.graph.nodes if node.op == "call_function"]


def test_a_mask_at_run_time_becomes_one_term_for_all_its_users():
    edge, changed = check_pass(PrepareAttentionMasks(), Attention(), X, SOME)
    assert changed
    assert _targets(edge).count(aten.where.self) == 1
    assert _targets(edge).count(aten.mul.Tensor) == 2


def test_rows_that_see_nothing_stay_zero():
    mask = SOME.clone()
    mask[1, 0, 2] = False
    check_pass(PrepareAttentionMasks(), Attention(), X, mask)
    term = torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))
    check_pass(PrepareAttentionMasks(), Attention(), X, term)
    check_pass(PrepareAttentionMasks(), Constant(mask), X)


def test_a_constant_mask_is_a_term_without_calls():
    edge, changed = check_pass(PrepareAttentionMasks(), Constant(SOME | torch.eye(5).bool()), X)
    assert changed
    assert _targets(edge) == [aten.scaled_dot_product_attention.default]


def test_a_mask_that_hides_nothing_goes():
    edge, changed = check_pass(PrepareAttentionMasks(), Constant(torch.ones(5, 5) > 0), X)
    assert changed
    assert next(n for n in edge.graph.nodes if n.op == "call_function").args[3] is None


def test_a_term_without_infinities_stays_as_it_is():
    _, changed = check_pass(PrepareAttentionMasks(), Constant(torch.randn(5, 5)), X)
    assert not changed
