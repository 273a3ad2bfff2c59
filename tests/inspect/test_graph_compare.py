"""Graphs side by side: families of nodes, and what was added, removed and changed."""

import pytest
import torch
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError, NotFoundError


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.Linear(5, 700)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x))).mean((2, 3))
        return torch.cumsum(self.head(torch.dropout(x, 0.5, False)), 1)


def exported(**options):
    torch.manual_seed(0)
    inputs = (torch.linspace(-1, 1, 75).reshape(1, 3, 5, 5),)
    return etlab.export(Net().eval(), inputs, name="net", **options)


@pytest.fixture(scope="module")
def run():
    return exported(partitioner="xnnpack")


def statuses(comparison):
    return {row.before or row.after: row.status for row in comparison.rows}


def test_stages_of_a_run_are_joined_whatever_their_names(run):
    comparison = etlab.compare(run, stages=("aten", "edge"))
    assert comparison.counts == {
        "net, aten → net, edge": {"same": 6, "added": 0, "removed": 1, "changed": 1}
    }
    assert statuses(comparison)["dropout"] == "removed"
    row = next(row for row in comparison.rows if "conv2d" in row.before)
    assert (row.before, row.after) == ("conv2d, batch_norm", "convolution_default")
    assert (row.status, row.difference) == ("changed", "2 → 1 nodes")
    assert row.operators == "conv2d, batch_norm → convolution"
    said = "GraphComparison(net, aten → net, edge: 6 same, 1 removed, 1 changed)"
    assert repr(comparison) == said


def test_default_stages_and_marks_of_every_pane(run):
    comparison = etlab.compare(run)
    assert [graph.stage for graph in comparison.graphs] == ["aten", "edge", "delegated"]
    aten, marks = comparison.graphs[0], comparison.marks
    assert marks[0][aten.places["dropout"]] == "removed"
    edge = comparison.graphs[1]
    assert marks[1][edge.places["convolution_default"]] == "changed"
    assert set(marks[2]) == {"same"}


def test_other_quantizers_change_dtypes_and_add_nodes(run):
    other = exported(partitioner="xnnpack", quantizer="int8-weights")
    assert len(etlab.compare(run, other).graphs) == 2
    comparison = etlab.compare(run, other, stages=("edge",))
    titles = [graph.title for graph in comparison.graphs]
    assert titles == ["net, edge #1", "net, edge #2"]
    added = [row for row in comparison.rows if row.status == "added"]
    assert [row.operators for row in added] == ["quantized_decomposed::dequantize_per_channel"]
    half = etlab.compare(run, exported(quantizer="fp16"), stages=("edge",))
    row = next(row for row in half.rows if "convolution_default" in row.before)
    assert row.status == "changed"
    assert "dtype float32 → float16" in row.difference


def test_equal_runs_differ_in_nothing(run):
    comparison = etlab.compare(run.graph("delegated"), exported(partitioner="xnnpack").graph())
    assert {row.status for row in comparison.rows} == {"same"}
    plain = etlab.compare(run, exported(), stages=("delegated",))
    changed = [row for row in plain.rows if row.status == "changed"]
    assert changed
    assert all("backend XnnpackBackend → none" in row.difference for row in changed)


def test_table_and_card_say_the_same(run):
    comparison = etlab.compare(run, stages=("aten", "edge"))
    frame = comparison.to_dataframe()
    counts = comparison.counts["net, aten → net, edge"]
    assert dict(frame.status.value_counts()) == {k: n for k, n in counts.items() if n}
    assert "dropout" in comparison._repr_html_()
    assert comparison._repr_html_() == comparison._repr_html_()


def test_wrong_calls_are_refused_in_words(run):
    with pytest.raises(InvalidArgumentError, match="expected 2 to 6 graphs, got 1"):
        etlab.compare(run.graph("aten"))
    with pytest.raises(InvalidArgumentError, match="got str"):
        etlab.compare("aten", "edge")
    with pytest.raises(NotFoundError, match="no stage 'nothing'"):
        etlab.compare(run, stages=("aten", "nothing"))


def test_what_a_quantizer_adds_is_the_same_in_every_later_stage():
    run = exported(quantizer="int8", partitioner="xnnpack")
    counts = etlab.compare(run, stages=("quantized", "edge", "delegated")).counts
    for found in counts.values():
        assert (found["added"], found["removed"], found["changed"]) == (0, 0, 0)


def test_what_lowering_makes_of_a_dynamic_quantizer_is_joined_to_it():
    torch.manual_seed(0)

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key = nn.Linear(64, 32), nn.Linear(64, 32)

        def forward(self, x):
            return torch.tanh(self.query(x) * self.key(x))

    run = etlab.export(
        Heads().eval(),
        (torch.randn(3, 64),),
        quantizer="8da8w",
        partitioner="xnnpack",
        name="heads",
    )
    compared = etlab.compare(run, stages=("quantized", "edge", "delegated"))
    for step, found in compared.counts.items():
        assert found["added"] == 0, step
    left = [row.operators for row in compared.rows if row.status == "removed"]
    # The inner tensors of quantized weights are plain parameters afterwards.
    assert set(left) <= {"export::access_subclass_inner_tensor"}
    made = next(row for row in compared.rows if row.before.startswith("choose_qparams_affine"))
    assert "clamp" in made.operators


def test_passes_of_a_method_that_there_is_not_are_refused(run):
    with pytest.raises(NotFoundError, match="no method 'fwd'; there are: forward"):
        run.passes("fwd")


def test_one_stage_of_two_runs_is_named_by_one_name(run):
    assert [graph.stage for graph in etlab.compare(run, run, stages="edge").graphs] == ["edge"] * 2
