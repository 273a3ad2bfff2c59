import pytest
import torch
from exir.lowering import Function, lower, seeded
from torch import nn

from etlab.exir import to_edge
from etlab.exir.passes.expand_recurrent import ExpandRecurrent
from etlab.testing_graphs import check_pass

CASES = {
    "lstm": (nn.LSTM, {}),
    "gru": (nn.GRU, {}),
    "rnn": (nn.RNN, {}),
    "rnn with relu": (nn.RNN, {"nonlinearity": "relu"}),
    "lstm without bias": (nn.LSTM, {"bias": False}),
    "two layers, both directions": (nn.LSTM, {"num_layers": 2, "bidirectional": True}),
    "gru of two layers, both directions": (nn.GRU, {"num_layers": 2, "bidirectional": True}),
    "projection": (nn.LSTM, {"proj_size": 3, "num_layers": 2, "bidirectional": True}),
    "batch first": (nn.LSTM, {"batch_first": True}),
    "dropout, which inference ignores": (nn.GRU, {"num_layers": 2, "dropout": 0.5}),
}


class _Recurrent(nn.Module):
    def __init__(self, layer, **options):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.layer = layer(3, 5, **options)

    def forward(self, x, *states):
        return self.layer(x, *states)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("steps", [1, 7])
def test_expansion_computes_what_eager_does(name, steps):
    layer, options = CASES[name]
    shape = (4, steps, 3) if options.get("batch_first") else (steps, 4, 3)
    edge, changed = check_pass(ExpandRecurrent(), _Recurrent(layer, **options), seeded(*shape))
    assert changed
    has_loop = any(node.target is torch.ops.higher_order.scan for node in edge.graph.nodes)
    assert has_loop == (steps > 1)


def test_a_given_state_and_a_lone_sequence_are_served():
    state = seeded(1, 5, seed=1), seeded(1, 5, seed=2)
    module = _Recurrent(nn.LSTM)

    class WithState(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module

        def forward(self, x, hidden, cell):
            return self.inner(x, (hidden, cell))

    assert check_pass(ExpandRecurrent(), WithState(), seeded(4, 3), *state)[1]


def test_a_layer_in_a_branch_is_expanded():
    weights = [seeded(15, 3), seeded(15, 5), seeded(15), seeded(15)]

    def branch(x):
        return torch.gru(x, torch.zeros(1, 2, 5), weights, True, 1, 0.0, False, False, False)[0]

    def function(x):
        return torch.cond(x.sum() > 0, branch, lambda x: branch(x * 2), [x])

    assert lower(Function(function), seeded(3, 2, 3)).memory_plan().steps.count("jump") == 4


def test_the_number_of_instructions_does_not_grow_with_the_sequence():
    def instructions(steps):
        return len(lower(_Recurrent(nn.LSTM), seeded(steps, 1, 3)).memory_plan().steps)

    assert instructions(20) == instructions(3) < 40


def test_other_calls_stay():
    _, changed = check_pass(ExpandRecurrent(), Function(torch.tanh), seeded(3))
    assert not changed


@pytest.mark.parametrize("is_training", [True, False])
def test_only_dropout_at_work_is_taken_apart_where_served_calls_stay(is_training):
    module = _Recurrent(nn.GRU, num_layers=2, dropout=0.5).train(is_training)
    edge = to_edge(torch.export.export(module, (seeded(7, 4, 3),), strict=False)).edge_graph()
    assert ExpandRecurrent(keeps_served=True).run(edge).changed == is_training
