"""Programs made without options run in the official runtime, whatever the arguments."""

import copy

import pytest
import torch
from exir.lowering import Function, lower
from interop.official import flatten, run_official
from torch import nn
from torch.nn import functional

from etlab.testing import assert_same

torch.manual_seed(0)
ROWS = torch.randn(2, 5, 6)
PADDINGS = {
    "cut and added": (ROWS, (-1, 1)),
    "cut on both sides": (ROWS, (-1, -2, 2, -1)),
    "cut in front of a whole dimension": (ROWS, (0, 0, -2, 0, 0, 1)),
    "integers": (torch.arange(12).reshape(3, 4), (1, -1, -1, 2)),
}


def check_in_official_runtime(module, *inputs):
    with torch.no_grad():
        expected = flatten(module(*copy.deepcopy(inputs)))
    actual = run_official(bytes(lower(module, *inputs).buffer), inputs)
    for index, (got, want) in enumerate(zip(actual, expected, strict=True)):
        assert_same(got, want, f"output {index}")


@pytest.mark.parametrize(("values", "padding"), PADDINGS.values(), ids=PADDINGS)
def test_padding_by_less_than_nothing_runs_officially(values, padding):
    check_in_official_runtime(Function(lambda x: functional.pad(x, padding, value=3)), values)


@pytest.mark.parametrize(
    "layer",
    [nn.Conv3d(2, 3, 3, padding=1, stride=(2, 1, 1)), nn.ConvTranspose3d(2, 3, 2, stride=2)],
    ids=["convolution", "transposed"],
)
def test_convolution_of_a_volume_runs_officially(layer):
    check_in_official_runtime(layer, torch.randn(2, 2, 5, 4, 3))
