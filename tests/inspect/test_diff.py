"""Differences of programs: nothing of the same one, and each kind of change in its section."""

import pytest
import torch
from torch import nn

import etlab
from etlab.commands import main
from etlab.errors import InvalidArgumentError
from etlab.inspect.diff import SECTIONS


class Net(nn.Module):
    def __init__(self, *, activation=torch.relu, width: int = 7, scale: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(5, width)
        self.second = nn.Linear(width, 3)
        self.activation = activation
        with torch.no_grad():
            self.second.weight.mul_(scale)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.topk(self.second(self.activation(self.first(x))), 2).values


def export(name: str = "net", partitioner: str | None = None, **options) -> etlab.ExportRun:
    net = Net(**options).eval()
    return etlab.export(net, (torch.randn(2, 5),), partitioner=partitioner, name=name)


@pytest.fixture(scope="module")
def plain() -> etlab.ExportRun:
    return export()


@pytest.mark.parametrize("partitioner", [None, "xnnpack"])
def test_nothing_differs_from_itself(partitioner, tmp_path):
    run = export(partitioner=partitioner)
    for other in (run, run.file, run.save(tmp_path / "net.pte"), export(partitioner=partitioner)):
        found = etlab.diff(run, other)
        assert not found
        assert found.rows == ()
        assert found.exit_code == 0
        assert "nothing differs" in repr(found)
        assert "nothing differs" in str(found)
        assert "nothing differs" in found._repr_html_()


def test_changed_weight_is_only_a_changed_weight(plain):
    found = etlab.diff(plain, export(scale=2.0))
    (row,) = found.rows
    assert row.section == "weights"
    assert "float[3, 7]" in row.before
    assert row.before != row.after


def test_changed_operator_is_in_graph_and_operators(plain):
    found = etlab.diff(plain, export(activation=torch.sin))
    assert {row.section for row in found.rows} <= {"graph", "operators", "bytes"}
    (line,) = found.section("graph")
    assert line.before.startswith("aten::relu.out(")
    assert line.after.startswith("aten::sin.out(")
    assert {(row.what, row.before, row.after) for row in found.section("operators")} == {
        ("aten::relu.out", "1 calls", ""),
        ("aten::sin.out", "", "1 calls"),
    }


def test_another_width_changes_shapes_weights_and_plan(plain):
    found = etlab.diff(plain, export(width=70))
    sections = {row.section for row in found.rows}
    assert {"graph", "weights", "plan", "bytes"} <= sections
    assert "signature" not in sections
    assert any(row.what == "peak of live bytes" for row in found.section("plan"))


def test_delegation_shows_in_its_section(plain):
    found = etlab.diff(plain, export(partitioner="xnnpack"))
    (row,) = found.section("delegates")
    assert (row.what, row.before) == ("delegate 0", "")
    assert "XnnpackBackend" in row.after
    assert "FullyConnected" in row.after
    changed = etlab.diff(
        export(partitioner="xnnpack"), export(partitioner="xnnpack", activation=torch.sin)
    )
    (row,) = changed.section("delegates")
    assert "Sin" in row.after


def test_both_ways_round_are_the_same_differences(plain):
    other = export(activation=torch.sin, scale=3.0)
    there, back = etlab.diff(plain, other), etlab.diff(other, plain)
    assert sorted(
        (r.section, r.what, r.before, r.after) for r in there.rows if r.section != "graph"
    ) == sorted((r.section, r.what, r.after, r.before) for r in back.rows if r.section != "graph")
    order = [SECTIONS.index(row.section) for row in there.rows]
    assert order == sorted(order)


def test_table_text_and_frame_have_every_row(plain):
    found = etlab.diff(plain, export(name="other", activation=torch.sin))
    assert len(found.to_dataframe()) == len(found.rows)
    text = str(found)
    assert all(row.what in text for row in found.rows)
    assert "operators" in found._repr_html_()
    with pytest.raises(InvalidArgumentError, match="no section 'x'"):
        found.section("x")


def test_command_answers_with_its_exit_code(plain, tmp_path, capsys):
    first = str(plain.save(tmp_path / "first.pte"))
    second = str(export(activation=torch.sin).save(tmp_path / "second.pte"))
    assert main(["diff", first, first]) == 0
    assert main(["diff", first, second]) == 1
    assert "aten::sin.out" in capsys.readouterr().out
    assert main(["diff", first, str(tmp_path / "absent")]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_other_things_are_refused(plain):
    with pytest.raises(InvalidArgumentError, match="got int"):
        etlab.diff(plain, 3)


def test_figures_hold_the_numbers_of_both_programs(plain):
    other = export(partitioner="xnnpack")
    found = etlab.diff(plain, other)
    figures = {(row.section, row.what): (row.before, row.after) for row in found.figures}
    for place, run in enumerate((plain, other)):
        sizes = run.file.size().by_kind
        assert {w: n[place] for (s, w), n in figures.items() if s == "bytes" and n[place]} == sizes
        calls = {row.operator: row.calls for row in run.file.operators()}
        assert {
            w: n[place] for (s, w), n in figures.items() if s == "operators" and n[place]
        } == calls
        peak = run.memory_plan().peak
        assert figures["plan", "peak of live bytes"][place] >= peak > 0
    assert figures["delegates", "XnnpackBackend"] == (0, other.file.size().by_kind["delegate"])
    assert etlab.diff(plain, plain).figures.to_dataframe().eval("before == after").all()
