"""What we write runs in the official runtime and computes what eager does."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from interop.official import flatten, run_official
from torch import nn

from etlab.exir import to_edge_transform_and_lower
from etlab.testing import assert_same


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.head = nn.Linear(8 * 4 * 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).flatten(1)).softmax(-1)


class TwoViews(nn.Module):
    """Returns an input, a view of it, a constant, the same value twice, and None."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))

    def forward(self, x: torch.Tensor) -> Any:
        y = x + 1
        return {"x": x, "view": x.reshape(-1), "w": self.weight, "y": (y, y), "v": y.view(3, 5)}


MODELS: dict[str, tuple[nn.Module, Sequence[Any]]] = {
    "mlp": (
        nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3)),
        (torch.randn(2, 5, generator=torch.Generator().manual_seed(0)),),
    ),
    "convnet": (ConvNet(), (torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(1)),)),
    "aliased outputs": (TwoViews(), (torch.arange(15.0).reshape(5, 3),)),
}


@pytest.mark.parametrize("name", MODELS)
def test_program_runs_in_the_official_runtime(name: str) -> None:
    model, inputs = MODELS[name]
    exported = torch.export.export(model.eval(), tuple(inputs), strict=False)
    program = to_edge_transform_and_lower(exported).to_executorch()
    with torch.no_grad():
        expected = flatten(model(*inputs))
    actual = run_official(program.buffer, inputs)
    assert len(actual) == len(expected)
    for index, (got, want) in enumerate(zip(actual, expected, strict=True)):
        assert_same(got, want.detach(), f"{name} output {index}")
