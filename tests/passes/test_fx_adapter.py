import pytest
import torch
from torch import fx, nn
from torch.fx.passes.infra.pass_base import PassResult

from etlab.errors import InvalidArgumentError
from etlab.exir import to_edge, to_edge_transform_and_lower
from etlab.exir.graph import run_edge_graph
from etlab.testing_graphs import export_module

aten = torch.ops.aten
X = torch.randn(3, 5)


class Sines(nn.Module):
    def forward(self, x):
        return x.sin() + 1


def sines_to_cosines(module: fx.GraphModule) -> PassResult:
    for node in list(module.graph.nodes):
        if node.target is aten.sin.default:
            with module.graph.inserting_before(node):
                new = module.graph.call_function(aten.cos.default, node.args)
            node.replace_all_uses_with(new)
            module.graph.erase_node(node)
    return PassResult(module, True)


def test_ordinary_fx_passes_run_and_get_their_metadata():
    manager = to_edge_transform_and_lower(
        export_module(Sines(), [X]), transform_passes=[sines_to_cosines]
    )
    edge = manager.edge_graph()
    cosine = next(n for n in edge.graph.nodes if n.target is aten.cos.default)
    assert cosine.meta["val"].shape == X.shape
    torch.testing.assert_close(run_edge_graph(edge, [X])[0][0], X.cos() + 1)


def test_pass_that_replaces_the_output_keeps_the_signature_valid():
    class Plain(nn.Module):
        def forward(self, x):
            return x.sin()

    manager = to_edge(export_module(Plain(), [X])).transform([sines_to_cosines])
    torch.testing.assert_close(manager.exported_program().module()(X), X.cos())


def test_pass_that_changes_the_interface_is_refused():
    def adds_an_input(module):
        with module.graph.inserting_before(next(iter(module.graph.nodes))):
            module.graph.placeholder("more")
        return PassResult(module, True)

    with pytest.raises(InvalidArgumentError, match="adds_an_input"):
        to_edge(export_module(Sines(), [X])).transform([adds_an_input])


def test_what_is_no_pass_is_refused():
    with pytest.raises(InvalidArgumentError, match="callable"):
        to_edge(export_module(Sines(), [X])).transform([3])
