"""Writes become values: buffers, inputs, views of them, statistics."""

import pytest
import torch
from torch import nn

from etlab.errors import LoweringError
from etlab.exir import to_edge
from etlab.exir.edge import OutputKind
from etlab.testing_graphs import check_lowering

torch.manual_seed(0)
X = torch.randn(3, 5)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.full((2,), 3.0))

    def forward(self, x):
        self.count.add_(1)
        return x * self.count.sum()


class Cache(nn.Module):
    """A key-value cache written at a position and read back whole."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 6, 5), persistent=False)

    def forward(self, position, x):
        self.cache[0, position] = x
        self.cache[1, 2:4].mul_(2)
        return self.cache.sum(1), self.cache[0, 1:3]


def test_buffer_written_in_place_becomes_an_output():
    edge = check_lowering(Counter(), X, more_inputs=[(X,), (X + 1,)])
    kinds = [spec.kind for spec in edge.outputs]
    assert kinds == [OutputKind.BUFFER_MUTATION, OutputKind.USER_OUTPUT]


def test_cache_written_through_views_is_read_with_the_new_values():
    positions = [torch.tensor([1, 3, 0]), torch.tensor([5, 2, 2]), torch.tensor([0, 4, 1])]
    check_lowering(Cache(), positions[0], X, more_inputs=[(p, X * 2) for p in positions])


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def _two_overlapping_views(x):
    x = x.clone()
    first, second = x[1:], x[:, 2:]
    first.mul_(3)
    second.add_(1)
    return x, first, second


def _view_of_view(x):
    x = x.clone()
    inner = x.t()[1:4].reshape(3, 3)
    inner[0].fill_(7)
    return x, inner


def _write_after_split(x):
    x = x.clone()
    left, right = x.split([2, 3], dim=1)
    right.zero_()
    left.add_(right.sum())
    return x, left


def _copy_of_strided_is_no_view(x):
    x = x.clone()
    copy = x.t().reshape(-1)
    copy.zero_()
    return x, copy


def _contiguous_of_strided_is_a_copy(x):
    x = x.clone()
    copy = x.t().contiguous()
    copy.add_(1)
    return x, copy


def _write_into_other_dtype(x):
    counts = torch.zeros(3, 5, dtype=torch.int64)
    counts.copy_(x * 10)
    half = torch.zeros(3, 5, dtype=torch.float16)
    half.add_(x[0])
    return counts, half


def _unbind_then_write(x):
    x = x.clone()
    rows = x.unbind(0)
    x.mul_(2)
    return rows[0] + rows[2]


def _squeeze_and_permute(x):
    x = x.clone()[None]
    x.squeeze(0).permute(1, 0).unsqueeze(0)[0, 1].add_(5)
    return x


def _relu_on_a_temporary(x):
    return (x + 1).relu_().sigmoid_() + x


def _layers_in_place(x):
    x = nn.functional.dropout(x + 1, training=False, inplace=True)
    x = nn.functional.hardswish(x, inplace=True)
    return nn.functional.relu6(x, inplace=True)


def _masked_assignment(x):
    x = x.clone()
    x[x > 0.5] = 0.0
    x[:, 1] = x[:, 2]
    return x


def _expanded_source(x):
    out = torch.empty(4, 3, 5)
    out.copy_(x)
    return out


WRITES = [
    _two_overlapping_views,
    _view_of_view,
    _write_after_split,
    _copy_of_strided_is_no_view,
    _contiguous_of_strided_is_a_copy,
    _write_into_other_dtype,
    _unbind_then_write,
    _squeeze_and_permute,
    _relu_on_a_temporary,
    _layers_in_place,
    _masked_assignment,
    _expanded_source,
]


@pytest.mark.parametrize("function", WRITES, ids=lambda function: function.__name__.strip("_"))
def test_writes_to_temporaries_compute_what_eager_does(function):
    edge = check_lowering(Calls(function), X)
    assert all(spec.kind is OutputKind.USER_OUTPUT for spec in edge.outputs)


def test_input_written_in_place_is_written_back_and_may_be_returned():
    def function(x, y):
        x.add_(y)
        x[0].zero_()
        return x, x * 2

    edge = check_lowering(Calls(function), X.clone(), X + 1)
    kinds = [spec.kind for spec in edge.outputs]
    assert kinds == [OutputKind.USER_INPUT_MUTATION, OutputKind.USER_OUTPUT, OutputKind.USER_OUTPUT]


def test_training_batch_norm_updates_its_statistics():
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3))
    images = torch.randn(4, 2, 6, 7)
    edge = check_lowering(model, images, more_inputs=[(images + 1,)], is_training=True)
    written = {s.target for s in edge.outputs if s.kind is OutputKind.BUFFER_MUTATION}
    assert written == {"1.running_mean", "1.running_var", "1.num_batches_tracked"}


def test_view_without_inverse_falls_back_to_official_functionalization():
    def function(x):
        x = x.clone()
        x.diagonal().fill_(1.0)
        return x

    exported = torch.export.export(Calls(function), (X,), strict=False)
    with pytest.warns(UserWarning, match="falling back"), pytest.raises(LoweringError):
        to_edge(exported)


def test_tied_buffers_are_one_memory():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("first", torch.ones(3))
            self.register_buffer("second", self.first)

        def forward(self, x):
            self.first.add_(1)
            return x * self.second

    check_lowering(Tied(), torch.randn(3), more_inputs=[(torch.randn(3),)])


def test_writing_a_parameter_is_refused_in_words():
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3), requires_grad=False)

        def forward(self, x):
            self.weight.add_(1)
            return x * self.weight

    exported = torch.export.export(Writes(), (torch.ones(3),), strict=False)
    with pytest.raises(LoweringError, match="register it as a buffer"):
        to_edge(exported)
