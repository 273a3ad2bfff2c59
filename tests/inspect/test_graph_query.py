"""Queries find the same nodes in Python and in the browser."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError
from etlab.inspect.graph_wire import encode_graph

ROOT = Path(__file__).parents[2]
FIND = """
import fs from "node:fs";
const [root, file, queries] = process.argv.slice(2);
const { decode } = await import(`${root}/widgets/graph/wire.js`);
const { prepare } = await import(`${root}/widgets/graph/tree.js`);
const { compile } = await import(`${root}/widgets/graph/query.js`);
const bytes = fs.readFileSync(file);
const graph = decode(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
const { hidden } = prepare(graph);
const find = (query) => {
  try {
    const fits = compile(query, graph, null);
    return graph.names.filter((_, node) => !hidden[node] && fits(node));
  } catch (error) {
    return error.message;
  }
};
console.log(JSON.stringify(JSON.parse(queries).map(find)));
"""
QUERIES = {
    "linear": ["linear_default", "linear_default_1"],
    "op=tanh": ["tanh_default"],
    "name:~lt_\\d$": ["linear_default_1"],
    "in:2 or kind:input": ["input_1", "linear_default_1"],
    "not delegated": ["input_1", "cumsum_default", "output"],
    "op:cum and not delegated": ["cumsum_default"],
    "(op:tanh or op:cum) dtype:float32": ["tanh_default", "cumsum_default"],
    "bytes>=28 bytes<1KiB": ["linear_default", "tanh_default"],
    "shape:1×3 backend:xnnpack": ["linear_default_1"],  # noqa: RUF001  a multiplication sign
    "bytes=12B": ["linear_default_1", "cumsum_default"],
    "nothing": [],
}
WRONG = {
    "(a": "without its '\\)'",
    "a)": "without its '\\('",
    "a or": "too early",
    'name:~"("': "no regular expression",
    "bytes>many": "is no number",
    "dtype>3": "is text",
}


@pytest.fixture(scope="module")
def graph():
    class Cumulative(nn.Module):
        def forward(self, x):
            return torch.cumsum(x, 1)

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3), Cumulative()).eval()
    return etlab.export(model, (torch.ones(1, 5),), partitioner="xnnpack", name="mlp").graph()


@pytest.mark.parametrize(("query", "names"), QUERIES.items())
def test_query_finds(graph, query, names):
    assert graph.select(query) == names


@pytest.mark.parametrize(("query", "message"), WRONG.items())
def test_query_is_refused_in_words(graph, query, message):
    with pytest.raises(InvalidArgumentError, match=message):
        graph.select(query)


def test_browser_finds_and_refuses_the_same(graph, tmp_path):
    if shutil.which("node") is None:
        pytest.skip("needs the system package nodejs")
    (tmp_path / "graph.bin").write_bytes(encode_graph(graph))
    (tmp_path / "find.mjs").write_text(FIND)
    asked = json.dumps([*QUERIES, *WRONG])
    command = ["node", tmp_path / "find.mjs", ROOT, tmp_path / "graph.bin", asked]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert said[: len(QUERIES)] == list(QUERIES.values())
    for (query, _), message in zip(WRONG.items(), said[len(QUERIES) :], strict=True):
        with pytest.raises(InvalidArgumentError) as refusal:
            graph.select(query)
        assert str(refusal.value) == f"query: {message}"
