import pytest
import torch
from torch import nn

import etlab
from etlab.inspect.delegation import NO_PARTITIONER


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).eval()


def report(model, **choices):
    return etlab.export(model, (torch.linspace(-1, 1, 15).reshape(3, 5),), **choices).delegation()


def test_parts_list_what_a_backend_took(model):
    found = report(model, partitioner="reference")
    assert found.coverage == 1.0
    assert [(part.backend, dict(part.operators)) for part in found.parts] == [
        ("ReferenceBackend", {"linear": 2, "tanh": 1})
    ]
    assert found.borders == (("lowered_module_0", 60, 36),)
    assert found.parts[0].payload > 0
    assert "ReferenceBackend" in found._repr_html_()


def test_every_call_that_stayed_has_the_partitioners_reason(model):
    found = report(model, partitioner="reference:operators=['linear']")
    assert found.by_op == {"linear": (2, 0), "tanh": (0, 1)}
    (stayed,) = found.rejected
    assert "not among the operators asked for" in stayed.reason
    assert stayed.source.startswith("activation.py:")
    frame = found.to_dataframe()
    assert list(frame.delegated) == [True, True, False]
    assert stayed.reason in found._repr_html_()


def test_without_a_partitioner_the_reason_is_that(model):
    assert {one.reason for one in report(model).rejected} == {NO_PARTITIONER}
