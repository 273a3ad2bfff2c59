"""Functions mapped over a dimension, and scans made of them."""

import pytest
import torch
from exir.lowering import Function
from torch._higher_order_ops.associative_scan import associative_scan

from etlab.testing_graphs import check_lowering

torch.manual_seed(0)


def _scanned(x):
    return associative_scan(lambda a, b: a * b + a, x, 0, combine_mode="generic")


def _mapped(x):
    return torch.vmap(lambda row: (row * 2).sum() + row)(x)


@pytest.mark.parametrize("function", [_scanned, _mapped])
def test_mapped_functions_compute_what_eager_does(function):
    with pytest.warns(UserWarning, match=r"torch\.vmap"):
        check_lowering(Function(function), torch.randn(5, 3))
