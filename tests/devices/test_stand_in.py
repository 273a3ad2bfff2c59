"""Stand-ins compute in this process in the place of hardware that is not here."""

import pytest
import torch
from torch import nn

import etlab
from etlab.devices import base, device, list_devices, tosa
from etlab.errors import InvalidArgumentError
from etlab.runtime import stands_in


@pytest.fixture
def here(monkeypatch):
    """A stand-in that is there, whatever is installed."""
    monkeypatch.setattr(tosa.Tosa, "needs", "torch")


def _run():
    torch.manual_seed(0)
    return etlab.export(nn.Linear(3, 2), (torch.ones(5, 3),))


def test_a_program_without_such_delegates_computes_what_native_does(here):
    run = _run()
    inputs = (torch.linspace(-1, 1, 15).reshape(5, 3),)
    assert torch.equal(run.run(inputs, path="device:tosa"), run.run(inputs))
    report = run.parity([inputs], paths=["native", "device:tosa"], local=False)
    assert report.row("device:tosa").values == report.row("native").values


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setattr(tosa.Tosa, "needs", "no_such_package")
    with pytest.raises(
        base.DeviceAbsentError, match=r"no_such_package.*pip install 'etlab\[arm\]'"
    ):
        device("tosa")


def test_a_stand_in_has_no_address_and_is_listed(here):
    with pytest.raises(InvalidArgumentError, match="takes no address"):
        device("tosa:here")
    assert list_devices()["tosa"].startswith("Arm's reference model of TOSA")


def test_nothing_stands_in_unless_it_is_asked_for():
    assert not stands_in("tosa")
