"""DiffView from the kernel's side: what it sends is what the differences say."""

from xml.etree import ElementTree

import pytest
from report_models import splitting_run

import etlab
from etlab.errors import InvalidArgumentError


@pytest.fixture(scope="module")
def diff():
    return etlab.diff(splitting_run(partitioner=None), splitting_run())


def test_page_gets_the_rows_and_numbers_of_the_tables(diff):
    content = diff.widget().content
    frame = diff.to_dataframe()
    for place, column in enumerate(frame.columns):
        assert [row[1 + place] for row in content["rows"]] == list(frame[column])
    figures = diff.figures.to_dataframe()
    assert [row[3:5] for row in content["figures"]] == figures[["before", "after"]].values.tolist()
    assert sum(count for _, count in content["sections"]) == len(diff.rows)


def test_selection_gives_the_rows(diff):
    view = diff.widget()
    view.selection = ["operators/forward/aten::relu.out"]
    (row,) = view.rows
    assert (row.before, row.after) == ("1 calls", "")
    assert view.code == "etlab.diff(before, after)"
    view.report = etlab.diff(splitting_run(), splitting_run())
    assert view.selection == []
    assert view.content["rows"] == []
    with pytest.raises(InvalidArgumentError, match=r"etlab\.diff\(before, after\) gives one"):
        etlab.DiffView("nothing")


def test_picture_has_two_bars_for_every_number_that_differs(diff):
    svg = ElementTree.fromstring(diff.to_svg())
    bars = [one for one in svg.iter() if one.tag.endswith("rect")]
    assert len(bars) == 2 * sum(row.before != row.after for row in diff.figures) + 2
    assert diff.to_svg() == diff.to_svg()
    assert "data:image/svg+xml;base64," in diff._repr_html_()
    same = etlab.diff(splitting_run(), splitting_run())
    assert same.to_svg() == ""
    assert "<img" not in same._repr_html_()
