import torch
from exir.lowering import Function, lower, seeded

from etlab.exir.passes.merge_common import MergeCommon
from etlab.testing_graphs import check_pass

aten = torch.ops.aten


def _count(edge, target):
    return sum(node.target is target for node in edge.graph.nodes)


def _run(function, *inputs):
    edge, changed = check_pass(MergeCommon(), Function(function), *inputs, keep_whole=True)
    return edge, changed


def test_equal_calls_become_one():
    edge, changed = _run(lambda x: x.exp() + x.exp() * x.exp(), seeded(3))
    assert changed
    assert _count(edge, aten.exp.default) == 1


def test_what_follows_from_equal_calls_becomes_one_too():
    edge, _ = _run(lambda x: x.exp().sum(0) + x.exp().sum(0), seeded(3))
    assert _count(edge, aten.sum.dim_IntList) == 1


def test_results_of_splits_become_one():
    edge, _ = _run(lambda x: x.chunk(2)[0] + x.chunk(2)[0], seeded(4))
    assert _count(edge, aten.split_copy.Tensor) == 1


def test_numbers_of_different_kinds_stay_apart():
    values = (0, 0.0, -0.0, False)
    inputs = torch.tensor([-0.0, 0.0, 1.0])
    edge, _ = _run(lambda x: sum((x + value).reciprocal() for value in values), inputs)
    assert _count(edge, aten.reciprocal.default) == len(values)


def test_random_numbers_stay_apart():
    program = lower(Function(lambda x: torch.rand(3) - torch.rand(3) + x), seeded(3))
    assert program.memory_plan().steps.count("aten::rand.out") == 2


def test_two_returned_results_stay_apart():
    edge, changed = _run(lambda x: (x.exp(), x.exp()), seeded(3))
    assert not changed
    assert _count(edge, aten.exp.default) == 2


def test_reads_before_and_after_a_write_stay_apart():
    def function(x):
        before = x.exp()
        x.add_(1)
        return before - x.exp()

    edge, _ = _run(function, seeded(3))
    assert _count(edge, aten.exp.default) == 2


def test_a_branch_is_merged_on_its_own():
    def function(x):
        return x.exp() + torch.cond(x.sum() > 0, lambda x: x.exp() + x.exp(), lambda x: -x, [x])

    edge, _ = _run(function, seeded(3))
    assert _count(edge, aten.exp.default) == 1
    assert sum(_count(body, aten.exp.default) for body in edge.submodules.values()) == 1


def test_what_stays_remembers_what_was_merged_into_it():
    edge, _ = _run(lambda x: x.exp() + (x.exp() - x.exp()), seeded(3))
    (kept,) = [node for node in edge.graph.nodes if node.target == aten.exp.default]
    assert (kept.meta["from_node"], kept.meta["merged_from"]) == ("exp", ("exp_1", "exp_2"))
