import base64
import gzip
import json
import re

import pytest
import torch
from torch import nn

import etlab
from etlab import reporting
from etlab.errors import AccessError, InvalidArgumentError
from etlab.reporting.numbers import numbers_of, plain


@pytest.fixture(scope="module")
def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 33), nn.LayerNorm(33), nn.Tanh(), nn.Linear(33, 3)).eval()
    grid = torch.linspace(-1, 1, 15).reshape(3, 5)
    return etlab.export(
        model, grid, partitioner="xnnpack", quantizer="int8-weights:min_elements=9", name="net"
    )


@pytest.fixture(scope="module")
def parity(run):
    return run.parity(paths=["eager", "quantized", "native"])


def unpacked(page, name):
    data = re.search(rf'<script type="text/plain" id="{name}">([^<]*)<', page)[1]
    return gzip.decompress(base64.b64decode(data)).decode()


def test_run_becomes_a_page_with_what_is_known_of_it(run, tmp_path):
    path = etlab.report(run, tmp_path / "net.html")
    page = path.read_text()
    results = json.loads((tmp_path / "net.json").read_text())["results"]
    kinds = [one["kind"] for one in results]
    assert kinds == [
        "ExportRun",
        "DelegationReport",
        "MemoryReport",
        "SizeReport",
        "LintReport",
        "GraphData",
    ]
    for part in (run, run.delegation(), run.memory_plan(), run.size(), run.lint()):
        assert part._repr_html_() in page
    assert unpacked(page, "numbers") + "\n" == (tmp_path / "net.json").read_text()


def test_page_asks_no_network(run, tmp_path):
    page = etlab.report(run, tmp_path / "net.html").read_text()
    whole = page + "".join(re.findall(r'id="(view-\d+)"', page) and [unpacked(page, "view-5")])
    addresses = set(re.findall(r"""(?:src|href)=["']?([a-z]+):""", whole))
    assert addresses <= {"data"}
    found = set(re.findall(r"https?://[\w./-]*", whole))
    assert found <= {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page


def test_same_results_give_the_same_bytes(run, parity, tmp_path):
    texts = [
        etlab.report([run, parity], tmp_path / f"{name}.html", json=tmp_path / "j").read_bytes()
        for name in ("one", "two")
    ]
    assert texts[0] == texts[1]


def test_numbers_are_those_of_the_frame_and_of_the_page(run, parity, tmp_path):
    path = etlab.report([parity, run.memory_plan()], tmp_path / "net.html")
    page = path.read_text()
    first, second = json.loads((tmp_path / "net.json").read_text())["results"]
    frame = parity.to_dataframe()
    place = first["table"]["columns"].index("sqnr_db")
    for row, value in zip(first["table"]["rows"], frame.sqnr_db, strict=True):
        told = row[place]
        assert told == plain(value)
        if isinstance(told, float):
            assert f">{told:.1f}<" in page
    assert second["facts"]["peak"] == run.memory_plan().peak
    assert f"peak {run.memory_plan().peak} B" in page
    assert [row[0] for row in second["table"]["rows"]] == list(run.memory_plan().to_dataframe().id)


def test_graph_of_two_thousand_nodes_takes_less_than_a_megabyte(tmp_path):
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(3, 3), nn.ReLU()) for _ in range(1000)]
    graph = etlab.export(nn.Sequential(*blocks).eval(), torch.zeros(2, 3), name="deep").graph(
        "aten"
    )
    assert len([node for node in graph.nodes if node.kind == "call"]) == 2000
    path = etlab.report(graph, tmp_path / "graph.html")
    assert path.stat().st_size <= 2**20
    assert "etlab-gv" in unpacked(path.read_text(), "view-0")


def test_view_is_shown_as_it_stands(run, tmp_path):
    view = run.graph().widget(query="op:tanh")
    page = etlab.report(view, tmp_path / "view.html").read_text()
    assert run.graph()._repr_html_() in page
    assert '"query": "op:tanh"' in unpacked(page, "view-0")


@pytest.mark.parametrize("name", ["lint", "diff", "profile", "sensitivity", "choices", "file"])
def test_every_kind_of_result_has_a_page(run, name, tmp_path):
    made = {
        "lint": run.lint,
        "diff": lambda: etlab.diff(run, run),
        "profile": lambda: run.profile(runs=1, warmup=0),
        "sensitivity": lambda: etlab.sensitivity(run.model, run.example_inputs, quantizer="int8"),
        "choices": etlab.list_quantizers,
        "file": lambda: run.file,
    }[name]()
    path = etlab.report(made, tmp_path / "page.html", title="A <title>")
    assert "<h1>A &lt;title&gt;</h1>" in path.read_text()
    (numbers,) = json.loads((tmp_path / "page.json").read_text())["results"]
    assert numbers == json.loads(json.dumps(numbers_of(made), allow_nan=False))


def test_refusals_say_what_to_do(run, tmp_path):
    with pytest.raises(InvalidArgumentError, match="Tensor has nothing to show; give a run"):
        etlab.report(torch.zeros(1), tmp_path / "page.html")
    with pytest.raises(InvalidArgumentError, match="at least one result"):
        etlab.report([], tmp_path / "page.html")
    with pytest.raises(AccessError, match="cannot write"):
        etlab.report(run, tmp_path / "nowhere" / "page.html")
    with pytest.raises(InvalidArgumentError, match="would both go"):
        etlab.report(run, tmp_path / "page.json")
    assert reporting.report is etlab.report
