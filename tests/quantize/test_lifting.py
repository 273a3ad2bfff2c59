"""A quantized module becomes a program without being traced again: the same program."""

import operator

import pytest
import torch
from torch import nn
from torch.utils import _pytree

import etlab
from etlab.quantize import QuantizeRequest, find_quantizer
from etlab.quantize.pt2e import flow

ROWS = torch.export.Dim("rows", min=2, max=9)


class Keeps(nn.Module):
    """Reads a number and nothing, writes a buffer, shares a weight and returns a dictionary."""

    def __init__(self):
        super().__init__()
        self.layer, self.same = nn.Linear(4, 4), nn.Linear(4, 4)
        self.same.weight = self.layer.weight
        self.register_buffer("seen", torch.zeros(4), persistent=False)

    def forward(self, input, none, number):
        self.seen.add_(input.mean(0))
        y = self.same(self.layer(input)) * number + self.seen
        return {"sum": y + torch.tensor([1.0, 2, 3, 4]), "input": (input, number)}


class Loops(nn.Module):
    """A body of its own between layers."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        def body(step, y):
            return step + 1, y * 0.5 + 1

        _, y = torch.while_loop(lambda step, y: step < 3, body, (torch.tensor(0), self.layer(x)))
        return self.layer(y)


INPUT = torch.linspace(-1, 1, 12).reshape(3, 4)
MODELS = {
    "state": (Keeps, (INPUT, None, 3), None),
    "free sizes": (lambda: nn.Sequential(nn.Linear(4, 4), nn.Flatten()), (INPUT,), ({0: ROWS},)),
    "loop": (Loops, (INPUT,), None),
    "norm": (lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU()), (INPUT,), None),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("quantizer", ["int8", "int8-dynamic"])
def test_a_lifted_program_is_what_tracing_makes(name, quantizer, monkeypatch):
    make, inputs, shapes = MODELS[name]
    programs = []
    for is_lifted in (True, False):
        torch.manual_seed(0)
        model = make().eval()
        monkeypatch.setattr(flow, "can_lift", lambda exported, choice=is_lifted: choice)
        exported = torch.export.export(model, inputs, dynamic_shapes=shapes, strict=False)
        request = QuantizeRequest(model, exported, inputs, [inputs], shapes)
        programs.append(find_quantizer(quantizer).quantize(request))
    lifted, traced = programs
    assert str(lifted.call_spec) == str(traced.call_spec)
    assert lifted.range_constraints == exported.range_constraints
    tensors = [{**program.state_dict, **program.constants} for program in programs]
    assert tensors[0].keys() == tensors[1].keys()
    before = {spec.target: spec for spec in exported.graph_signature.input_specs}
    for spec in lifted.graph_signature.input_specs:  # tracing forgets what is not persistent
        if spec.target in before:
            assert spec.kind is before[spec.target].kind
            assert spec.persistent is before[spec.target].persistent
    calls = [
        [
            (str(node.target), str(node.meta["val"]))
            for node in program.graph.nodes
            if node.op == "call_function" and (node.users or node.target is not operator.getitem)
        ]
        for program in programs
    ]
    assert calls[0] == calls[1]
    for _ in range(2):  # the state goes on
        results = [_pytree.tree_leaves(program.module()(*inputs)) for program in programs]
        for result, expected in zip(*results, strict=True):
            assert torch.equal(torch.as_tensor(result), torch.as_tensor(expected))


def test_a_lifted_program_lowers():
    run = etlab.export(Loops().eval(), (INPUT,), quantizer="int8", calibration=[INPUT, INPUT / 2])
    run.parity(paths=["quantized", "native"]).check(sqnr_db=20)
