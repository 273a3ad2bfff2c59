"""Transposes: as few as the model allows."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from interop.xnnpack import check, node_names
from torch import nn

X = torch.randn(2, 4, 8, 6, generator=torch.Generator().manual_seed(0))


def _transposes(function, *inputs):
    return node_names(check(function, *inputs)).count("StaticTranspose")


def _pool(x):
    return F.max_pool2d(x, 3, 1, 1)


@pytest.mark.parametrize(
    ("function", "count"),
    [
        pytest.param(lambda x: x * 2 + 1, 0, id="nothing asks for channels last"),
        pytest.param(lambda x: _pool(_pool(x)), 2, id="in once, out once"),
        pytest.param(lambda x: _pool(_pool(x) * 2 + x), 2, id="elementwise goes along"),
        pytest.param(lambda x: _pool(x) + _pool(x * 2), 2, id="one transpose for two users"),
        pytest.param(lambda x: _pool(x).mean((2, 3)), 1, id="averages need none to leave"),
        pytest.param(lambda x: _pool(x).permute(0, 2, 3, 1), 1, id="permutation to channels last"),
        pytest.param(lambda x: _pool(x.permute(0, 3, 1, 2)), 1, id="permutation before, free"),
        pytest.param(
            lambda x: torch.cat([_pool(x), _pool(x)[:, 1:3]], 1), 2, id="cat and slice go along"
        ),
        pytest.param(lambda x: _pool(F.pad(x, (1, 1, 2, 0))), 2, id="padding goes along"),
        pytest.param(
            lambda x: (_pool(x) * 2).reshape(2, 4, 48).softmax(-1), 2, id="back for a reshape"
        ),
    ],
)
def test_transposes_are_as_few_as_possible(function, count):
    assert _transposes(function, X) == count


def test_the_smaller_tensor_is_transposed():
    """A sum between both worlds: the large one of its neighbours stays as it is."""

    def function(x):
        small = _pool(x[:, :1]).softmax(-1)  # plain, of one channel
        return _pool(x * small)

    graph = check(function, X)
    assert node_names(graph).count("StaticTranspose") == 4


def test_a_channels_last_input_is_taken_as_it_lies():
    x = X.to(memory_format=torch.channels_last)
    edge = check(nn.Conv2d(4, 6, 3), x)
    assert node_names(edge) == ["Conv2d", "StaticTranspose"]


def test_both_sides_of_a_conflict_are_right():
    def function(x):
        y = _pool(x) * 2
        plain = (y + 1).softmax(-1)
        return _pool(y - plain) + (y * plain).reshape(2, 4, 8, 6).softmax(-1)

    check(function, X)
