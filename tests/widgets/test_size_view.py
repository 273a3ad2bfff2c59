"""SizeView from the kernel's side: its parts, two files side by side, its static picture."""

import xml.etree.ElementTree as ElementTree

import pytest
import torch
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError
from etlab.inspect.size_picture import squarify


def size_of(width, **options):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, width), nn.ReLU(), nn.Linear(width, 3)).eval()
    return etlab.export(model, (torch.ones(1, 5),), name=f"mlp{width}", **options).size()


@pytest.fixture(scope="module")
def report():
    return size_of(7)


def test_parts_frame_table_and_total_agree(report):
    view = report.widget()
    frame = report.to_dataframe()
    entries = view.content["entries"]
    assert [entry["nbytes"] for entry in entries] == list(frame.nbytes)
    assert sum(entry["nbytes"] for entry in entries) == view.content["total"] == report.total
    assert len({entry["key"] for entry in entries}) == len(entries)
    weight = next(entry for entry in entries if entry["key"] == "0.weight")
    assert (weight["path"], weight["shape"]) == (["0", "weight"], "7 x 5")
    assert view._snapshot_html() == report._repr_html_()
    assert repr(view) == f"SizeView({report!r})"


def test_two_files_stand_side_by_side(report):
    other = size_of(9)
    view = report.widget(baseline=other)
    assert view.content["before"]["total"] == other.total
    assert "baseline=baseline" in view.code
    view.selection = ["0.weight", "no such part"]
    view.report = other
    assert view.selection == ["0.weight"]
    view.baseline = None
    assert view.content["before"] is None
    with pytest.raises(InvalidArgumentError, match=r"`baseline` is a str; run\.size\(\)"):
        report.widget(baseline="b.pte")


def test_delegates_of_one_backend_are_told_apart():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.LogSoftmax(1), nn.Linear(7, 3)).eval()
    run = etlab.export(model, (torch.ones(1, 5),), partitioner="xnnpack", name="two")
    keys = {entry["key"] for entry in run.size().widget().content["entries"]}
    assert {"delegate XnnpackBackend", "delegate XnnpackBackend (2)"} <= keys


def test_weights_of_delegates_have_the_names_of_the_model():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, groups=8), nn.Flatten()]
    model = nn.Sequential(*layers, nn.Linear(8 * 81, 4)).eval()
    run = etlab.export(model, (torch.ones(1, 3, 13, 13),), partitioner="xnnpack", name="net")
    named = {entry.name: entry.nbytes for entry in run.size().entries if "." in entry.name}
    weights = {name: value.nbytes for name, value in model.named_parameters() if value.dim() > 1}
    assert weights.items() <= named.items()
    assert run.size().by_module["4"] >= weights["4.weight"]
    assert all("." not in entry.name for entry in run.file.size().entries)


def test_areas_are_as_the_bytes():
    weights = [6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0]
    boxes = squarify(weights, (0, 0, 600, 400))
    assert [w * h for _, _, w, h in boxes] == pytest.approx([one * 10000 for one in weights])
    assert max(max(w / h, h / w) for _, _, w, h in boxes) < 3.5
    assert squarify([0.0, 0.0], (0, 0, 5, 5)) == [(0, 0, 0.0, 0.0)] * 2


def test_picture_names_every_part(report):
    titles = [
        one.text
        for one in ElementTree.fromstring(report.to_svg()).iter()
        if one.tag.endswith("title")
    ]
    named = {entry.name or entry.kind for entry in report.entries if entry.nbytes}
    assert {title.partition(":")[0] for title in titles} == named
    assert "data:image/svg+xml;base64," in report._repr_html_()
