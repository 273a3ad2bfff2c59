import torch
from exir.lowering import Function, seeded
from torchao.quantization.pt2e import quantize_pt2e  # noqa: F401 - registers the operators

from etlab.exir.passes.dequantize_for_each_user import DequantizeForEachUser
from etlab.testing_graphs import check_pass

_GRID = (0.1, 3, -128, 127, torch.int8)


def _on_grid(x):
    integers = torch.ops.quantized_decomposed.quantize_per_tensor(x, *_GRID)
    return torch.ops.quantized_decomposed.dequantize_per_tensor(integers, *_GRID)


def _dequantizes(edge):
    return [node for node in edge.graph.nodes if "dequantize" in str(node.target)]


def _run(function):
    return check_pass(DequantizeForEachUser(), Function(function), seeded(3), keep_whole=True)


def test_every_user_has_a_dequantize_of_its_own():
    def three(x):
        grid = _on_grid(x)
        return grid.exp() + grid.cos() * grid

    edge, changed = _run(three)
    assert changed
    assert [len(node.users) for node in _dequantizes(edge)] == [1, 1, 1]


def test_a_single_user_keeps_what_it_has():
    edge, changed = _run(lambda x: _on_grid(x).exp())
    assert not changed
    assert len(_dequantizes(edge)) == 1


def test_an_output_is_no_user_that_needs_one():
    edge, _ = _run(lambda x: (grid := _on_grid(x), grid.exp()))
    assert len(_dequantizes(edge)) == 1
