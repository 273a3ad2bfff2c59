"""The magics that ask a run or a program: what they give, and the Python that gives the same."""

import json

import pytest
import torch
from IPython.core.error import UsageError

import etlab
from etlab.devtools import Inspector
from etlab.inspect.graph import GraphData
from etlab.magics import magic_names
from etlab.magics.etgraph import GraphPicture


def printed(shell, capsys, magic, line):
    """The result of a line, and the names after the Python that it prints."""
    result = shell.run_line_magic(magic, f"{line} --print-code")
    names = {name: shell.user_ns[name] for name in ("model", "x", "run", "small", "torch")}
    exec(capsys.readouterr().out, names)
    return result, names


def test_every_magic_has_help_and_prints_code(session):
    kinds = session.magics_manager.magics
    assert len(magic_names()) == 13
    for name in magic_names():
        function = kinds["line"].get(name) or kinds["cell"].get(name)
        assert "--print-code" in function.__doc__
        assert f"%{name}" in function.__doc__


def test_run_gives_the_outputs_of_a_path(session, capsys, run, x):
    outputs, names = printed(session, capsys, "etrun", "run -i x")
    assert torch.equal(outputs, run.run(x))
    assert torch.equal(names["outputs"], outputs)
    eager = session.run_line_magic("etrun", "--path eager -n kept")
    assert torch.equal(eager, run.run(x, path="eager"))
    assert session.user_ns["kept"] is eager


def test_run_repeats_and_writes_events(session, capsys, run, x, tmp_path):
    before = etlab.options.threads
    line = f"run -i x --runs 3 --threads 2 --etdump {tmp_path}/events.etdp"
    (outputs,) = session.run_line_magic("etrun", line)
    assert "3 traced runs: p50" in capsys.readouterr().out
    assert torch.equal(outputs, run.run(x))
    assert etlab.options.threads == before
    inspector = Inspector(etdump_path=f"{tmp_path}/events.etdp")
    assert "3 runs" in repr(inspector)


def test_printed_code_of_a_measured_run_gives_the_same(session, capsys):
    session.run_line_magic("etrun", "run --runs 2 --print-code")
    times, code = capsys.readouterr().out.split("\n", 1)
    assert times.startswith("2 traced runs")
    names = {"run": session.user_ns["run"]}
    exec(code, names)
    assert torch.equal(names["outputs"][0], names["run"].run(names["run"].example_inputs))


def test_programs_come_by_their_path(session, run, tmp_path, x):
    path = run.save(tmp_path / "net.pte")
    (outputs,) = session.run_line_magic("etrun", f"{path} -i x")
    assert torch.equal(outputs, run.run(x))
    assert session.run_line_magic("etmem", str(path)).peak == run.memory_plan().peak
    with pytest.raises(UsageError, match="needs --inputs"):
        session.run_line_magic("etrun", str(path))


def test_graph_shows_a_stage(session, capsys, run):
    view, names = printed(session, capsys, "etgraph", "run.aten --filter op:tanh --height 300")
    assert (view.data.title, view.query, view.height) == ("net, aten", "op:tanh", 300)
    assert names["view"].data == view.data
    closed = session.run_line_magic("etgraph", "run --depth 0")
    assert closed.opened == []
    every = session.run_line_magic("etgraph", "run --depth 9")
    assert sorted(every.opened) == sorted(one.name for one in closed.data.groups[1:])


def test_static_graph_is_a_picture(session, capsys, run):
    picture, _ = printed(session, capsys, "etgraph", "run.aten --static")
    assert isinstance(picture, GraphPicture)
    assert isinstance(picture.graph, GraphData)
    assert "data:image/svg+xml;base64," in picture._repr_html_()
    assert repr(picture) == repr(run.graph("aten"))


def test_memory_names_who_is_alive(session, capsys, run, tmp_path):
    plan, names = printed(session, capsys, "etmem", f"run --trace {tmp_path}/plan.json")
    assert names["plan"] == plan
    events = json.loads((tmp_path / "plan.json").read_text())["traceEvents"]
    alive = [event["args"]["alive"] for event in events if event["ph"] == "C"]
    assert max(alive) == max(run.memory_plan().plan.live_bytes)
    assert sum(event["ph"] == "b" for event in events) == len(plan.plan.tensors)
    table, names = printed(session, capsys, "etmem", "run --step peak")
    assert names["alive"] == table
    assert sum(row.nbytes for row in table) == max(alive)
    assert session.run_line_magic("etmem", "run --algo naive").peak >= plan.peak


def test_profile_is_grouped_and_compared(session, capsys):
    report = session.run_line_magic("etprofile", "run --runs 2 --threads 1")
    assert (report.runs, report.threads) == (2, 1)
    table, names = printed(session, capsys, "etprofile", "run --runs 2 --by delegate")
    assert [row.name for row in names["table"]] != []
    assert {row.name for row in table} == {
        "own kernels",
        "executorch_call_delegate (XnnpackBackend)",
        "executorch_call_delegate_1 (XnnpackBackend)",
    }
    delta = session.run_line_magic("etprofile", "small --runs 2 --baseline run")
    assert delta[0].name == "end to end"
    assert delta[0].delta_ms == pytest.approx(delta[0].after_ms - delta[0].before_ms)


def test_compare_and_diff_join_runs(session, capsys):
    comparison, names = printed(session, capsys, "etcompare", "run small")
    assert names["comparison"].rows == comparison.rows
    stages = session.run_line_magic("etcompare", "run --stages aten,delegated")
    assert [graph.stage for graph in stages.graphs] == ["aten", "delegated"]
    found, names = printed(session, capsys, "etdiff", "run small --only bytes")
    assert names["difference"] == found
    assert {row.section for row in found.rows} == {"bytes"}
    assert session.run_line_magic("etdiff", "run run --exit-code") == 0


def test_calls_that_stayed_are_grouped(session, capsys, run):
    table = session.run_line_magic("etwhy", "run --group module")
    assert table == run.delegation().by_module
    assert (table[0].module, table[0].stayed) == ("1", 1)
    assert str(session.run_line_magic("etwhy", "small layer_norm")).startswith("layer_norm: 1 call")


def test_theme_is_set_for_views_that_say_none(session, monkeypatch, capsys):
    monkeypatch.setenv("ETLAB_THEME", "auto")
    session.run_line_magic("etlab", "theme dark --print-code")
    assert capsys.readouterr().out == "import etlab\n\netlab.options.theme = 'dark'\n"
    assert etlab.options.theme == "dark"
    assert {row.name: row.value for row in session.run_line_magic("etlab", "")}["theme"] == "dark"


@pytest.mark.parametrize(
    ("magic", "line", "words"),
    [
        ("etrun", "model", "model is Sequential; give a run"),
        ("etrun", "nothing.pte -i x", "nothing.pte"),
        ("etrun", "run --method backward", "no method 'backward'"),
        ("etrun", "run --path eager --runs 3", "leave --path out"),
        ("etrun", "run --runs 0", "expected 1 or more"),
        ("etgraph", "run.aten --color-by hue", "no colouring 'hue'"),
        ("etmem", "run --step 99", "expected peak, or 0 to"),
        ("etmem", "run --algo magic", "magic"),
        ("etprofile", "run --by colour", "invalid choice"),
        ("etcompare", "run --stages nowhere", "no stage 'nowhere'"),
        ("etdiff", "run small --only colour", "no section 'colour'"),
        ("etwhy", "run linear --group op", "not about linear"),
        ("etlab", "theme pink", "expected one of auto, light, dark"),
        ("etreport", "x", "Tensor has nothing to show"),
        ("etsweep", "model", "--inputs is needed"),
    ],
)
def test_wrong_lines_are_refused_in_a_line(session, magic, line, words):
    with pytest.raises(UsageError) as caught:
        session.run_line_magic(magic, line)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value).strip()


def test_report_writes_a_page(session, capsys, tmp_path):
    path = session.run_line_magic("etreport", f"-o {tmp_path}/a.html --title Net --print-code")
    assert "<h1>Net</h1>" in path.read_text()
    first = path.read_bytes()
    exec(capsys.readouterr().out, {"run": session.user_ns["run"]})
    assert path.read_bytes() == first
    assert json.loads((tmp_path / "a.json").read_text())["title"] == "Net"
