"""The graph of every stage as tables, and the tree its nodes stand in."""

import pytest
import torch
from torch import nn

import etlab
from etlab.errors import NotFoundError
from etlab.inspect.graph import HIDDEN, GraphNode
from etlab.inspect.graph_tree import MOST_CHILDREN, RawGraph, assemble


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(5, 5, 3, padding=1), nn.BatchNorm2d(5)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x))) + x


class Net(nn.Module):
    """A stem, three equal blocks, a head that is called twice, and an output beside it."""

    def __init__(self):
        super().__init__()
        self.stem, self.blocks = nn.Conv2d(3, 5, 3), nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(5, 205)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = x.mean((2, 3))
        a, b = x.split((2, 3), 1)
        return self.head(x), self.head(x * 2), torch.cumsum(b, 1) * a.sum()


@pytest.fixture(scope="module")
def run():
    torch.manual_seed(0)
    inputs = (torch.linspace(-1, 1, 3 * 7 * 9).reshape(1, 3, 7, 9),)
    return etlab.export(
        Net().eval(), inputs, quantizer="int8-weights", partitioner="xnnpack", name="net"
    )


def _drawn(graph):
    return [node for node in graph.nodes if node.kind not in HIDDEN]


def test_every_stage_has_a_graph_whose_edges_go_forward(run):
    for stage in run.stages:
        graph = run.graph(stage)
        assert graph.stage == stage
        assert [node.id for node in graph.nodes] == list(range(len(graph.nodes)))
        assert len({node.name for node in graph.nodes}) == len(graph.nodes)
        assert len({group.name for group in graph.groups}) == len(graph.groups)
        assert all(source < target for source, target in graph.edges)
        assert all(group.parent < group.id for group in graph.groups)
        assert "net" in repr(graph)


def test_stages_are_joined_by_the_nodes_of_the_exported_graph(run):
    names = set(run.graph("aten").places)
    for stage in run.stages:
        calls = [node for node in _drawn(run.graph(stage)) if node.kind in ("call", "module")]
        assert calls
        for node in calls:
            # What the quantizer put in came from no node of the model, and says so.
            assert node.origins, (stage, node.name)
            added = {name for name in node.origins if name.startswith("quantized/")}
            assert set(node.origins) - added <= names, (stage, node.name)
            assert set(node.origins) != added or "dequantize" in node.operator, (stage, node.name)
    convolution = next(n for n in run.graph("edge").nodes if n.operator == "convolution")
    assert convolution.origins == ("conv2d",)
    assert run.graph("eager").node("blocks.1.norm").origins == ("batch_norm_1",)


def test_eager_graph_has_modules_and_the_functions_between_them(run):
    graph = run.graph("eager")
    assert graph.operators["Conv2d"] == 4
    assert graph.node("head@1").module == "head"
    assert graph.node("relu").module == "blocks.0"
    stem, conv = graph.places["stem"], graph.places["blocks.0.conv"]
    assert (stem, conv) in graph.edges
    assert (stem, graph.places["add"]) in graph.edges


def test_equal_blocks_in_a_row_are_folded_and_single_calls_need_no_box(run):
    graph = run.graph("aten")
    fold = next(group for group in graph.groups if group.kind == "fold")
    assert (fold.label, fold.type) == ("blocks.0 … 2", "3 x Block")
    members = [group.name for group in graph.groups if group.parent == fold.id]
    assert members == ["blocks.0", "blocks.1", "blocks.2"]
    assert "stem" not in {group.name for group in graph.groups}
    assert graph.groups[0].type == "Net"


def test_delegates_open_to_what_they_compute(run):
    graph = run.graph("delegated")
    delegate = next(group for group in graph.groups if group.kind == "delegate")
    assert delegate.type == "XnnpackBackend"
    call = graph.nodes[delegate.call]
    assert (call.kind, call.backend) == ("delegate", "XnnpackBackend")
    inside = [node for node in graph.nodes if node.part == delegate.name]
    assert {node.backend for node in inside} == {"XnnpackBackend"}
    stem = next(node for node in inside if node.operator == "convolution")
    assert (graph.places["x"], stem.id) in graph.edges
    pick = next(n for n in graph.nodes if n.kind == "pick" and not n.part)
    makers = {source for source, target in graph.edges if target == pick.id}
    assert delegate.call in makers
    assert any(graph.nodes[maker].part == delegate.name for maker in makers)


def test_bodies_of_control_flow_stand_in_boxes():
    class Branch(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda y: y.sin() + 1, lambda y: y.cos(), (x,))

    graph = etlab.export(Branch().eval(), (torch.ones(3),), name="branch").graph("aten")
    bodies = [group for group in graph.groups if group.kind == "body"]
    assert [group.type for group in bodies] == ["cond", "cond"]
    inside = {node.operator for node in graph.nodes if node.part == bodies[0].name}
    assert inside == {"sin", "add"}
    sine = next(node for node in graph.nodes if node.operator == "sin")
    assert (graph.places["x"], sine.id) in graph.edges


def test_graph_without_modules_is_cut_into_sections_where_few_values_cross():
    count = 3 * MOST_CHILDREN
    nodes = [
        GraphNode(i, f"n{i}", "call", "relu", "", "", "float32", (3,), 12) for i in range(count)
    ]
    edges = [(i, i + 1) for i in range(count - 1)]
    # Long edges over every place but the multiples of 90.
    edges += [(i, i + 88) for i in range(1, count - 90, 90)]
    raw = RawGraph(nodes, [()] * count, sorted(edges, key=lambda edge: edge[1]))
    graph = assemble(raw, title="flat")
    sections = [group for group in graph.groups if group.kind == "section"]
    assert {group.parent for group in sections} == {0}
    assert 1 < len(sections) <= MOST_CHILDREN
    firsts = [next(n.id for n in graph.nodes if n.group == group.id) for group in sections]
    assert all(first % 90 in (0, 1) for first in firsts)


def test_missing_stages_and_nodes_are_refused_in_words(run):
    with pytest.raises(NotFoundError, match="delegated"):
        run.graph("nothing")
    with pytest.raises(NotFoundError, match="select"):
        run.graph("aten").node("nothing")


def test_table_has_a_row_for_every_node(run):
    graph = run.graph("delegated")
    frame = graph.to_dataframe()
    assert list(frame.name) == [node.name for node in graph.nodes]
    row = frame[frame.operator == "cumsum"].iloc[0]
    assert (row["dtype"], row["shape"]) == ("float32", (1, 3))
    assert row.source.startswith("test_graph.py:")
    assert graph._repr_html_() == graph._repr_html_()
