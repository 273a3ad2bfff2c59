import pytest
import torch
from torch import nn

import etlab


class Classifier(nn.Module):
    """A small picture classifier with what the quantizers look for."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU6())
        self.head = nn.Linear(8 * 7 * 7, 5)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


@pytest.fixture(scope="session")
def classifier():
    return Classifier().eval()


@pytest.fixture(scope="session")
def picture():
    grid = torch.linspace(-1, 1, 15)
    return torch.stack(
        [grid[:, None] * grid[None], grid[:, None] ** 2 + grid[None], -grid.expand(15, 15)]
    )[None]


@pytest.fixture(scope="session")
def plain(classifier, picture):
    return etlab.export(classifier, (picture,))


@pytest.fixture(scope="session")
def quantized(classifier, picture):
    return etlab.export(classifier, (picture,), quantizer="int8-weights:min_elements=1")
