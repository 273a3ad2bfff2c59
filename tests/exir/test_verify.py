"""The verifier's table: each rule catches what it is there for."""

import pytest
import torch
from torch import nn
from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument

from etlab.errors import LoweringError
from etlab.exir import to_edge
from etlab.exir.verify import problems, verify
from etlab.testing_graphs import export_module

aten = torch.ops.aten
X = torch.randn(3, 5)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 4)

    def forward(self, x):
        return self.linear(x.sin()).relu()


@pytest.fixture
def edge():
    return to_edge(export_module(Layers(), [X])).edge_graph()


def _node(edge, target):
    return next(node for node in edge.graph.nodes if node.target is target)


def test_lowered_graph_is_valid(edge):
    assert problems(edge) == []


def _break_order(edge):
    _node(edge, aten.sin.default).prepend(_node(edge, aten.relu.default))


def _write(edge):
    _node(edge, aten.relu.default).target = aten.relu_.default


def _view(edge):
    node = _node(edge, aten.relu.default)
    node.target, node.args = aten.t.default, node.args


def _no_kernel(edge):
    _node(edge, aten.relu.default).target = aten.erfinv.default


def _stranger(edge):
    _node(edge, aten.relu.default).target = print


def _no_val(edge):
    del _node(edge, aten.relu.default).meta["val"]


def _real_val(edge):
    _node(edge, aten.relu.default).meta["val"] = torch.zeros(3, 4)


def _strided_val(edge):
    node = _node(edge, aten.sin.default)
    with node.meta["val"].fake_mode:
        node.meta["val"] = torch.empty(5, 3).t()


def _lost_tensor(edge):
    del edge.tensors["linear.weight"]


def _wrong_tensor(edge):
    edge.tensors["linear.weight"] = torch.zeros(2, 2)


def _lost_submodule(edge):
    with edge.graph.inserting_before(_node(edge, aten.relu.default)):
        edge.graph.get_attr("nowhere")


def _lost_spec(edge):
    edge.inputs.pop()


def _unknown_buffer(edge):
    name = edge.outputs[0].arg.name
    edge.outputs[0] = OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(name), "nobody")


DAMAGES = [
    (_break_order, "before it is made"),
    (_write, "functional"),
    (_view, "returns a view"),
    (_no_kernel, "has no kernel"),
    (_stranger, "neither an operator"),
    (_no_val, "has no meta"),
    (_real_val, "real tensor"),
    (_strided_val, "contiguous"),
    (_lost_tensor, "no tensor is stored"),
    (_wrong_tensor, "linear.weight"),
    (_lost_submodule, "no submodule"),
    (_lost_spec, "the signature says"),
    (_unknown_buffer, "which is no input"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=lambda d: getattr(d, "__name__", ""))
def test_damage_is_found(edge, damage, message):
    damage(edge)
    with pytest.raises(LoweringError, match=message):
        verify(edge)


def test_all_problems_are_reported_at_once(edge):
    _no_val(edge)
    _lost_tensor(edge)
    assert len(problems(edge)) == 2
