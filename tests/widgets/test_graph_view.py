"""GraphView from the kernel's side: its state, its colourings, its answers, its two outputs."""

import json
import re
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.inspect.graph_wire import encode_graph
from etlab.widgets import find_view
from etlab.widgets._modules import joined_modules, without_comments

WIDGETS = Path(find_view.__code__.co_filename).parent


@pytest.fixture(scope="module")
def graph():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).eval()
    return etlab.export(model, (torch.ones(1, 5),), partitioner="xnnpack", name="mlp").graph()


def read_wire(data):
    """Head and sections of the bytes that a browser gets."""
    assert data[:4] == b"ETG1"
    (length,) = struct.unpack_from("<I", data, 4)
    head = json.loads(data[8 : 8 + length])
    sections = {}
    for name, kind, offset, count in head["sections"]:
        assert offset % 8 == 0
        if kind == "text":
            sections[name] = data[offset : offset + count].decode().split("\n")
        else:
            sections[name] = np.frombuffer(data, np.dtype(f"<{kind}"), count, offset)
    return head, sections


def test_wire_holds_what_the_table_holds(graph):
    head, sections = read_wire(encode_graph(graph))
    assert head["count"] == len(graph.nodes)
    for node in graph.nodes:
        assert sections["names"][node.id] == node.name
        assert sections["operators"][sections["operator"][node.id]] == node.operator
        assert sections["backends"][sections["backend"][node.id]] == node.backend
        assert sections["bytes"][node.id] == (-1 if node.nbytes is None else node.nbytes)
        assert sections["group"][node.id] == node.group
    ends = np.cumsum(sections["indegree"])
    edges = [
        (int(source), target)
        for target, end in enumerate(ends)
        for source in sections["edges"][end - sections["indegree"][target] : end]
    ]
    assert sorted(edges) == sorted(graph.edges)


def test_view_opens_what_reads_well_and_selects_from_python(graph):
    view = graph.widget()
    assert repr(view) == "GraphView(mlp, delegated)"
    assert view.color_by == "backend"
    assert view.opened == ["lowered_module_0"]
    view.focus("tanh_default")
    assert view.selection == ["tanh_default"]
    with pytest.raises(NotFoundError, match="no node or group"):
        view.focus("nothing")
    with pytest.raises(NotFoundError, match="choose from none, backend"):
        view.color_by = "nothing"
    with pytest.raises(NotFoundError, match="no group is called 'nothing'"):
        graph.widget(opened=["nothing"])


def test_code_shows_the_same_and_pictures_need_no_browser(graph):
    view = graph.widget(color_by="dtype", query="op:tanh", opened=[])
    assert view.code == (
        "run.graph('delegated').widget(color_by='dtype', query='op:tanh', opened=[])"
    )
    assert graph.widget().code == "run.graph('delegated').widget(color_by='backend')"
    view.overlay({"tanh": 1.0}, name="mine")
    view.query = ""
    assert view.code == "run.graph('delegated').widget(opened=[])"
    assert view.to_svg() == graph.to_svg([])
    picture = view.to_png(scale=1)
    assert picture == graph.to_png([], scale=1)
    width, height = struct.unpack(">II", picture[16:24])
    wide, _ = struct.unpack(">II", view.to_png(scale=2)[16:24])
    assert abs(wide - 2 * width) <= 1
    assert height > 50
    with pytest.raises(NotFoundError, match="no group is called 'nothing'"):
        graph.to_png(["nothing"])


def test_overlay_takes_a_series_by_node_or_by_origin(graph):
    view = graph.widget()
    made = view.overlay(pd.Series({"tanh_default": 2.5, "nothing": 1.0}, name="latency"), unit="s")
    assert made.unmatched == ("nothing",)
    assert view.color_by == "latency"
    values = np.frombuffer(view.overlays["latency"]["values"], np.float32)
    assert values[graph.places["tanh_default"]] == 2.5
    assert np.isnan(values).sum() == len(graph.nodes) - 1
    by_origin = view.overlay({"linear": 7, "linear_1": None}, name="by origin", combine="max")
    assert by_origin.values[graph.places["linear_default"]] == 7
    words = view.overlay({"linear": "slow", "tanh": "fast"}, name="words")
    assert words.classes == ("fast", "slow")
    assert words.values[graph.places["tanh_default"]] == 0


def test_reports_of_the_run_colour_the_graph():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 300), nn.Tanh(), nn.Linear(300, 7)).eval()
    run = etlab.export(
        model, (torch.ones(1, 5),), partitioner="xnnpack", quantizer="int8-weights", name="mlp"
    )
    view = run.graph().widget()
    report = run.parity()
    made = view.overlay(report)
    assert (view.color_by, made.unit, made.combine) == ("SQNR (dB), native", "dB", "min")
    node = next(n for n in run.graph().nodes if n.origins == ("linear_1",) and n.kind == "call")
    row = next(r for r in report.layers if (r.path, r.operator) == ("native", "linear_1"))
    assert made.values[node.id] == pytest.approx(row.accumulated.values["sqnr_db"], rel=1e-5)
    assert view.overlay(report, local=True, path="quantized").name == "local SQNR (dB), quantized"
    times = view.overlay(run.delegation(runs=2))
    assert (view.color_by, times.unit) == ("latency", "s")
    call = next(group.call for group in run.graph().groups if group.kind == "delegate")
    assert times.values[call] > 0
    with pytest.raises(InvalidArgumentError, match="delegation\\(runs=5\\) measures"):
        view.overlay(run.delegation())
    with pytest.raises(InvalidArgumentError, match="no path 'nothing'; choose from exported"):
        view.overlay(report, path="nothing")


def test_wrong_overlays_are_refused_in_words(graph):
    view = graph.widget()
    with pytest.raises(InvalidArgumentError, match="names a node of mlp"):
        view.overlay({"nothing": 1})
    with pytest.raises(InvalidArgumentError, match="all numbers or all strings"):
        view.overlay({"tanh": "fast", "linear": 1})
    with pytest.raises(InvalidArgumentError, match="'most' is none of sum, min"):
        view.overlay({"tanh": 1}, combine="most")
    with pytest.raises(InvalidArgumentError, match="a pandas Series or a mapping"):
        view.overlay([1, 2])


def test_the_kernel_draws_the_whole_picture(graph):
    view, said = graph.widget(), []
    view.send = lambda content, buffers=(): said.append((content, buffers))
    view._answer(None, {"type": "picture", "id": 7}, [])
    assert said == [({"id": 7}, [view.to_png()])]


def test_page_asks_and_the_kernel_answers_in_words(graph):
    view = graph.widget()
    said = []
    view.send = lambda message: said.append(message)
    view._answer(None, {"type": "details", "node": "tanh_default"}, [])
    rows = dict(said[0]["rows"])
    assert rows["arguments"] == "linear_default"
    view._answer(None, {"type": "source", "source": graph.node("tanh_default").source}, [])
    assert any(said[1]["text"]["lines"])
    for nonsense in (None, {"type": "details", "node": "x/y"}, {"type": "source", "source": "f:1"}):
        view._answer(None, nonsense, [])
    assert len(said) == 2


def test_display_is_a_picture_and_then_the_view(graph, monkeypatch):
    outputs = []
    monkeypatch.setattr(
        "etlab.widgets._two_outputs.display", lambda data, **options: outputs.append(data)
    )
    view = graph.widget()
    view._ipython_display_()
    snapshot, live = outputs
    assert "application/vnd.jupyter.widget-view+json" not in snapshot
    assert "application/vnd.jupyter.widget-view+json" in live
    assert view.hides in snapshot["text/html"]
    assert snapshot["text/plain"] == live["text/plain"] == "GraphView(mlp, delegated)"
    assert len(snapshot["text/html"]) < 150_000


def test_page_of_its_own_names_no_outside_address(graph):
    page = graph.widget().to_html()
    links = set(re.findall(r"https?://[^\s\"'<>]+", page))
    assert not links


@pytest.mark.parametrize("name", sorted(path.name for path in WIDGETS.glob("*.js")))
def test_joined_modules_are_one_valid_module(name, tmp_path):
    if shutil.which("node") is None:
        pytest.skip("needs the system package nodejs")
    (tmp_path / "module.mjs").write_text(joined_modules(WIDGETS / name))
    said = subprocess.run(
        ["node", "--check", tmp_path / "module.mjs"], capture_output=True, text=True, check=False
    )
    assert said.stderr == ""


@pytest.mark.parametrize("name", sorted(path.name for path in WIDGETS.glob("*.js")))
def test_every_view_is_small(name):
    assert len(joined_modules(WIDGETS / name).encode()) <= 60_000


def test_joined_modules_keep_strings_and_lose_comments():
    source = 'const a = "// b"; // c\n/** d */\nconst e = /\\/\\*"/g.test(`x /* ${a} */ y`);\n'
    assert without_comments(source) == 'let a="// b",e=/\\/\\*"/g.test(`x /* ${a} */ y`);\n'
    module = joined_modules(WIDGETS / "graph_view.js")
    assert "import " not in re.sub(r'"[^"]*"|`[^`]*`', "", module)
    assert module.rstrip().endswith(";")


SHORTENED = {
    "const total = (first, step) => first + step;": "let c=(a,b)=>a+b;",
    # Properties keep their names, alone in braces they get a variable beside them.
    "const width = box.width; use({ width, height: width });": (
        "let a=box.width;use({width:a,height:a});"
    ),
    "const { width, tall: height = 3 } = box; f(width, height);": (
        "let{width:b,tall:a=3}=box;f(b,a);"
    ),
    "function paint({ width }) { shown = `${width} ${width ? 'px' : ''}`; }": (
        "function a({width}){shown=`${width} ${width ? 'px' : ''}`}"
    ),
    "const find = 1; const it = { find() { return find; }, get find() {} };": (
        "let a=1,b={find(){return a},get find(){}};"
    ),
    "const text = 1; say(`text ${text} of ${count.text}`);": (
        "let a=1;say(`text ${a} of ${count.text}`);"
    ),
    'const many = 2; say(`many ${many > 1 ? "many" : few[many / 2]}`);': (
        'let a=2;say(`many ${a > 1 ? "many" : few[a / 2]}`);'
    ),
    "const one = 2; say(`${{ one: 1 }.one} ${one}`); say(`${max(...one)}`);": (
        "let one=2;say(`${{ one: 1 }.one} ${one}`);say(`${max(...one)}`);"
    ),
    # A method that is called as a keyword is declares nothing.
    "ask().catch(String); it.function(Set, (error) => error); it.let = Map;": (
        "ask().catch(String);it.function(Set,(a)=>a);it.let=Map;"
    ),
    "try { go(); } catch (error) { say(error, String); }": "try{go()}catch(a){say(a,String)}",
    "const size = 1; say(`${size + 1} ${box.size}`); run(...size);": (
        "let a=1;say(`${a + 1} ${box.size}`);run(...a);"
    ),
    "f((a1, b1 = Infinity) => a1); const { c1 = Infinity } = Infinity;": (
        "f((a,b=Infinity)=>a);let{c1:c=Infinity}=Infinity;"
    ),
    "try { go(); } catch { throw new Error('no'); }": ("try{go()}catch{throw new Error('no')}"),
    "let a1 = { on: true }; const b1 = 2; go(); const c1 = false; for (let d1 = 0; ; ) go(d1);": (
        "let b={on:!0},c=2;go();let d=!1;for(let a=0;;)go(a);"
    ),
    "let x = 1; x = x - -x + +x; y = x / 2;": "let x=1;x=x- -x+ +x;y=x/2;",
}


@pytest.mark.parametrize(("source", "small"), SHORTENED.items())
def test_names_are_shortened_where_they_are_no_properties(source, small):
    assert without_comments(source) == f"{small}\n"
