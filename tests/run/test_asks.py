"""The lines of `docs/asks.md`, run as they stand there."""

import base64
import re
from pathlib import Path

import pytest
import torch
from IPython.testing.globalipapp import start_ipython
from torch import nn

import etlab

DOCUMENT = (Path(__file__).parents[2] / "docs" / "asks.md").read_text(encoding="utf-8")
ROWS = {
    int(number): (re.findall(r"`([^`]+)`", code), re.findall(r"`(test_\w+)`", tests))
    for number, code, tests in re.findall(
        r"^\| (\d+) \|[^|]*\|[^|]*\| ([^|]*) \| ([^|]*) \|$", DOCUMENT, re.MULTILINE
    )
}


class Net(nn.Module):
    """A model with a call that XNNPACK leaves to our kernels."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 5, 3), nn.LayerNorm(30)
        self.blocks = nn.ModuleList(nn.Linear(30, 30) for _ in range(3))

    def forward(self, x):
        x = self.norm(self.conv(x)).relu()
        for block in self.blocks:
            x = block(x) + x
        return x.mean(dim=(2, 3))


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Net().eval()


@pytest.fixture(scope="module")
def run(model):
    grid = torch.linspace(-1, 1, 32)
    inputs = (grid[:, None] * grid[None]).expand(1, 3, 32, 32)
    return etlab.export(model, inputs, partitioner="xnnpack", name="net")


@pytest.fixture
def answer(run, tmp_path, monkeypatch):
    """What the lines of an ask give, run in a folder with `m.pte`."""
    monkeypatch.chdir(tmp_path)
    run.save("m.pte")
    other = etlab.export(run.model, run.example_inputs, name="other")
    names = {"etlab": etlab, "torch": torch, "run": run, "other": other}

    def given(number):
        return [eval(line, names) for line in ROWS[number][0]]

    return given


def test_every_ask_has_a_line_and_a_test():
    assert sorted(ROWS) == list(range(1, 11))
    for lines, tests in ROWS.values():
        assert lines
        assert all(name in globals() for name in tests)


def test_ask_1_a_file_shows_its_delegates_and_fallbacks(answer):
    (graph,) = answer(1)
    operators = [node.operator for node in graph.nodes]
    assert any(node.backend == "XnnpackBackend" for node in graph.nodes)
    assert any("native_layer_norm" in name for name in operators)


def test_ask_2_stages_are_joined_and_shared_as_a_page(answer, run):
    (path,) = answer(2)
    page = path.read_text()
    compared = etlab.compare(run, stages=["aten", "edge", "delegated"])
    assert len(compared.graphs) == 3
    assert compared._repr_html_() in page
    assert not re.search(r"""(src|href)=["']?https?:""", page)


def test_ask_3_the_first_divergence_is_named_inside_of_delegates(answer, run):
    assert answer(3) == [None]
    with torch.no_grad():
        run.model.blocks[1].weight.mul_(1.5)
    try:
        (found,) = answer(3)
    finally:
        with torch.no_grad():
            run.model.blocks[1].weight.div_(1.5)
    assert found.row.module == "blocks.1"
    assert found.row.part
    assert found.row.source.startswith("test_asks.py:")


def test_ask_4_noise_is_known_for_what_it_is(answer):
    torch.manual_seed(0)
    (warnings,) = answer(4)
    assert "random noise" in warnings[0]


def test_ask_5_every_byte_of_a_file_is_accounted_for(answer):
    (report,) = answer(5)
    assert report.total == Path("m.pte").stat().st_size
    assert sum(entry.nbytes for entry in report.entries) == report.total
    assert report.by_kind["delegate"] + report.by_kind.get("named data", 0) > 3 * 30 * 30 * 4


def test_ask_6_memory_is_told_by_what_it_is_for(answer, run):
    (use,) = answer(6)
    assert run.memory_plan().peak in use.to_dataframe().nbytes.tolist()


def test_ask_7_what_stayed_has_its_time_its_reason_and_a_remedy(answer, run):
    (reasons,) = answer(7)
    assert sum(row.calls for row in reasons) == len(run.delegation().rejected)
    for row in reasons:
        assert row.reason
        assert row.help
        assert row.seconds > 0


def test_ask_8_any_model_opens_with_few_boxes(answer):
    (view,) = answer(8)
    assert view.data.nodes
    deep = nn.Sequential(*[nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(300)]).eval()
    picture = etlab.export(deep, torch.zeros(2, 3)).graph().to_svg()
    assert 1 <= picture.count("<rect") <= 200


def test_ask_9_two_models_are_compared_as_graphs_and_as_files(answer):
    graphs, files = answer(9)
    assert len(graphs.graphs) == 2
    assert set(next(iter(graphs.counts.values()))) == {"same", "added", "removed", "changed"}
    assert files.exit_code == 1
    assert "delegates" in {row.section for row in files.rows}


def test_ask_10_a_view_leaves_a_picture_that_needs_nothing(answer):
    shell = start_ipython() or __import__("IPython").get_ipython()
    published = []
    publish = shell.display_pub.publish
    shell.display_pub.publish = lambda data, *args, **kwargs: published.append(data)
    try:
        answer(10)
    finally:
        shell.display_pub.publish = publish
    picture, live = published
    assert "application/vnd.jupyter.widget-view+json" in live
    assert "application/vnd.jupyter.widget-view+json" not in picture
    data = re.search(r"data:image/svg\+xml;base64,([\w+/=]+)", picture["text/html"])[1]
    assert base64.b64decode(data).startswith(b"<svg")
    assert not re.search(r"<(script|style|svg)\b", picture["text/html"])
