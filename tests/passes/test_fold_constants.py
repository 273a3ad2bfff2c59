import torch
from torch import nn

from etlab.exir.passes.fold_constants import FoldConstants
from etlab.testing_graphs import check_pass

aten = torch.ops.aten


class _Calls(nn.Module):
    def __init__(self, function, **tensors):
        super().__init__()
        self.function = function
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor)

    def forward(self, x):
        return self.function(self, x)


def _targets(function, x, **tensors):
    module = _Calls(function, **tensors)
    edge, _ = check_pass(FoldConstants(), module, x, keep_whole=True)
    return edge, {n.target for n in edge.graph.nodes if n.op == "call_function" and n.users}


def test_arithmetic_on_weights_is_computed():
    _, targets = _targets(
        lambda m, x: x @ (m.weight.exp() + 1).t(), torch.randn(3, 5), weight=torch.randn(4, 5)
    )
    assert aten.exp.default not in targets
    assert aten.add.Scalar not in targets


def test_tensors_made_from_numbers_are_computed():
    _, targets = _targets(lambda m, x: x + torch.arange(5).float() * 2, torch.randn(3, 5))
    assert targets == {aten.add.Tensor}


def test_large_results_are_left():
    _, targets = _targets(lambda m, x: x + torch.zeros(200, 300), torch.randn(200, 300))
    assert aten.full.default in targets


def test_weight_that_would_grow_is_left():
    weight = torch.randint(-8, 8, (64, 64), dtype=torch.int8)
    _, targets = _targets(lambda m, x: x @ m.weight.float(), torch.randn(3, 64), weight=weight)
    assert aten._to_copy.default in targets


def test_weight_used_elsewhere_is_not_stored_twice():
    weight = torch.randn(64, 64)
    _, targets = _targets(
        lambda m, x: (x @ m.weight.exp()) * m.weight.sum(), torch.randn(3, 64), weight=weight
    )
    assert aten.exp.default in targets


def test_random_numbers_stay_random():
    module = _Calls(lambda m, x: x * 0 + torch.rand(5) * 0)
    edge, _ = check_pass(FoldConstants(), module, torch.randn(3, 5), keep_whole=True)
    assert any("rand" in str(n.target) for n in edge.graph.nodes)


def test_state_that_is_written_is_no_constant():
    def function(module, x):
        module.count.add_(1)
        return x + module.count * 2

    edge, _ = check_pass(
        FoldConstants(), _Calls(function, count=torch.zeros(5)), torch.randn(3, 5), keep_whole=True
    )
    assert any(n.target is aten.add.Scalar for n in edge.graph.nodes)
