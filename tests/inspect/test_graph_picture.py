"""The picture of a graph: the same layout as in the browser, and an SVG that stays."""

import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from torch import nn

import etlab
from etlab.errors import NotFoundError
from etlab.inspect.graph_layout import DrawnTree, lay_out
from etlab.inspect.graph_tree import first_view
from etlab.inspect.graph_wire import encode_graph

ROOT = Path(__file__).parents[2]
LAY_OUT = """
import fs from "node:fs";
const [root, file, open] = process.argv.slice(2);
const { decode } = await import(`${root}/widgets/graph/wire.js`);
const { prepare } = await import(`${root}/widgets/graph/tree.js`);
const { layOut } = await import(`${root}/widgets/graph/layout.js`);
const bytes = fs.readFileSync(file);
const tree = prepare(decode(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)));
const scene = layOut(tree, new Set(JSON.parse(open)));
const { items, boxes, edgeMaker, edgeTarget, points } = scene;
const plain = { items, boxes, edgeMaker, edgeTarget, points };
for (const key of Object.keys(plain)) plain[key] = [...plain[key]];
console.log(JSON.stringify({ ...plain, size: [scene.width, scene.height] }));
"""


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(8, 8) for _ in range(3))
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x, mask):
        y = self.norm(x)
        scores = self.query(y) @ self.key(y).transpose(1, 2) + mask
        return x + self.out(torch.softmax(scores, -1) @ self.value(y))


class Encoder(nn.Module):
    """Blocks with three branches, a mask that every one reads, and a long way around."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Attention() for _ in range(5))

    def forward(self, x, mask):
        first = x
        for layer in self.layers:
            x = layer(x, mask)
        return x * first, x.split(3, 1)[0].cumsum(1)


@pytest.fixture(scope="module")
def run():
    torch.manual_seed(0)
    inputs = (torch.randn(1, 5, 8), torch.zeros(1, 5, 5))
    return etlab.export(Encoder().eval(), inputs, partitioner="xnnpack", name="encoder")


@pytest.mark.parametrize("stage", ["eager", "aten", "delegated", "program"])
def test_browser_and_picture_have_the_same_layout(run, stage, tmp_path):
    if shutil.which("node") is None:
        pytest.skip("needs the system package nodejs")
    graph = run.graph(stage)
    (tmp_path / "graph.bin").write_bytes(encode_graph(graph))
    (tmp_path / "run.mjs").write_text(LAY_OUT)
    numbers = {group.name: group.id for group in graph.groups}
    choices = [[], [numbers[name] for name in first_view(graph)], list(numbers.values())]
    for opened in choices:
        scene = lay_out(DrawnTree(graph), opened)
        command = ["node", tmp_path / "run.mjs", ROOT, tmp_path / "graph.bin", json.dumps(opened)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        other = json.loads(said.stdout)
        boxes = [v for box in scene.boxes for v in (box.x, box.y, box.width, box.height)]
        points = [v for way in scene.ways for point in way.points for v in point]
        assert other["items"] == [box.item for box in scene.boxes]
        assert other["edgeMaker"] == [way.maker for way in scene.ways]
        assert other["edgeTarget"] == [way.target for way in scene.ways]
        assert other["size"] == pytest.approx([scene.width, scene.height])
        assert other["boxes"] == pytest.approx(boxes, rel=1e-6, abs=1e-3)
        assert other["points"] == pytest.approx(points, rel=1e-6, abs=1e-3)


def test_picture_is_the_same_every_time_and_names_what_it_shows(run):
    graph = run.graph("aten")
    svg = graph.to_svg()
    assert svg == run.graph("aten").to_svg()
    text = "".join(ElementTree.fromstring(svg).itertext())
    assert "5 × Attention" in text  # noqa: RUF001  the multiplication sign is meant
    assert "Graph of encoder, aten" in text
    opened = graph.to_svg(opened=[group.name for group in graph.groups])
    assert opened.count("linear") > svg.count("linear")
    assert "data:image/svg+xml;base64," in graph._repr_html_()


def test_first_view_is_small_for_any_model():
    deep = nn.Sequential(*[nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(300)])
    graph = etlab.export(deep.eval(), (torch.ones(1, 3),), name="deep").graph("aten")
    numbers = {group.name: group.id for group in graph.groups}
    scene = lay_out(DrawnTree(graph), [numbers[name] for name in first_view(graph)])
    assert len(scene.boxes) <= 200


def test_unknown_groups_are_refused_in_words(run):
    with pytest.raises(NotFoundError, match="no group is called 'nothing'"):
        run.graph("aten").to_svg(opened=["nothing"])
