import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import nn
from traitlets.config import Config

import etlab


@pytest.fixture(scope="package")
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 33), nn.LayerNorm(33), nn.Tanh(), nn.Linear(33, 3)).eval()


@pytest.fixture(scope="package")
def x():
    return torch.linspace(-1, 1, 15).reshape(3, 5)


@pytest.fixture(scope="package")
def run(model, x):
    return etlab.export(model, x, partitioner="xnnpack", name="net")


@pytest.fixture(scope="package")
def small(model, x):
    return etlab.export(
        model, x, partitioner="xnnpack", quantizer="int8-weights:min_elements=9", name="net"
    )


@pytest.fixture
def session(model, x, run, small, monkeypatch):
    """A shell with a model, two runs and the magics; without the history file and its thread."""
    monkeypatch.setenv("ETLAB_PROGRESS", "off")
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_line_magic("load_ext", "etlab")
    shell.push({"model": model, "x": x, "run": run, "small": small, "torch": torch})
    return shell
