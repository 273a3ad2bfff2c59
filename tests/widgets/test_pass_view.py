"""The compiler's passes one by one, as data and as a view."""

import pytest
import torch
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError


@pytest.fixture(scope="module")
def history():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.Dropout(), nn.Tanh()).eval()
    return etlab.export(model, (torch.ones(1, 3, 5, 5),), name="toy").passes()


def test_history_has_the_graph_after_every_pass_that_changed_it(history):
    names = [step.name for step in history.steps]
    assert "FoldBatchNorm" in names
    assert len(history.graphs) == len(names) + 1
    fold = history.steps[names.index("FoldBatchNorm")]
    assert (fold.removed, fold.added) == ("1 _native_batch_norm_legit_no_training", "")
    after = history.graphs[fold.step]
    assert after.operators == {"convolution": 1, "tanh": 1}
    assert fold.calls == 2
    assert list(history.to_dataframe().name) == names
    assert repr(history).startswith("PassHistory(toy: ")


def test_step_compares_before_and_after(history):
    names = [step.name for step in history.steps]
    step = names.index("FoldBatchNorm") + 1
    changed = [row for row in history.comparison(step).rows if row.status != "same"]
    assert [row.after for row in changed] == ["convolution_default"]
    with pytest.raises(InvalidArgumentError, match="no step 0"):
        history.comparison(0)


def test_view_shows_the_step_of_its_slider(history):
    view = history.widget()
    first = view.comparison
    assert view.children[2] is first
    view.step = len(history.steps)
    assert view.children[2] is view.comparison
    assert (view.comparison is first) == (len(history.steps) == 1)
    assert history.steps[-1].name in view.slider.label
    assert str(history.steps[-1].calls) in view.said.value
    view.hides = "etlab-snapshot-00000000"
    assert "etlab-snapshot-00000000" in view.children[-1].value
    with pytest.raises(InvalidArgumentError, match="no step 99"):
        view.step = 99
    with pytest.raises(InvalidArgumentError, match=r"run\.passes"):
        etlab.PassView("nothing")
