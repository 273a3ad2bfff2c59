"""The reference backend: what it takes, what it writes, that its programs run natively."""

import pytest
import torch
from torch import nn
from torch.export import Dim

from etlab.backends.reference import ReferencePartitioner
from etlab.exir import to_edge_transform_and_lower
from etlab.exir.partition import LoweredModule, partitioner_class
from etlab.exir.partition.lower import REASONS
from etlab.runtime import Runtime
from etlab.testing import assert_same
from etlab.testing_graphs import export_module

torch.manual_seed(0)
X = torch.randn(3, 5)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 7), nn.Linear(7, 2)

    def forward(self, x):
        return self.second(self.first(x).relu()), x @ x.t()


def _lower(model, *inputs, operators=None, **options):
    return to_edge_transform_and_lower(
        export_module(model, inputs, **options), partitioner=[ReferencePartitioner(operators)]
    )


def _delegates(manager):
    edge = manager.edge_graph()
    return [m for m in edge.submodules.values() if isinstance(m, LoweredModule)]


@pytest.mark.parametrize("operators", [None, ["linear"], ["aten.relu.default", "mm"]])
def test_delegated_program_computes_what_eager_does(operators):
    model = Mlp()
    manager = _lower(model, X, operators=operators)
    method = Runtime.get().load_program(manager.to_executorch().buffer).load_method("forward")
    for actual, expected in zip(method.execute([X]), model(X), strict=True):
        assert_same(actual, expected)


def test_views_at_the_borders_of_delegates_compute_what_eager_does():
    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(5, 6), nn.Linear(3, 2)

        def forward(self, x):
            return self.second(self.first(x.view(5, 3).view(3, 5)).view(6, 3)).view(-1)

    model = Views()
    manager = _lower(model, X, operators=["linear"])
    method = Runtime.get().load_program(manager.to_executorch().buffer).load_method("forward")
    assert_same(method.execute([X])[0], model(X))


def test_all_operators_of_one_component_are_one_delegate():
    assert len(_delegates(_lower(Mlp(), X))) == 2


def test_operators_that_were_not_asked_for_are_left_with_a_reason():
    manager = _lower(Mlp(), X, operators=["linear"])
    assert len(_delegates(manager)) == 2
    relu = next(n for n in manager.edge_graph().graph.nodes if "relu" in str(n.target))
    assert "not among the operators" in relu.meta[REASONS]["ReferencePartitioner"]


def test_dynamic_sizes_reach_the_delegate():
    model = Mlp()
    shapes = ({0: Dim("rows", min=2, max=9)},)
    manager = _lower(model, X, dynamic_shapes=shapes)
    method = Runtime.get().load_program(manager.to_executorch().buffer).load_method("forward")
    for rows in (2, 9, 3):
        x = torch.randn(rows, 5)
        for actual, expected in zip(method.execute([x]), model(x), strict=True):
            assert_same(actual, expected)


def test_partitioner_is_found_by_name():
    assert partitioner_class("reference") is ReferencePartitioner
