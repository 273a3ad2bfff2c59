"""Quantized weights of a model with state."""

import torch
from torch import nn

import etlab


class Counting(nn.Module):
    """Two layers of one shape, and a state, which is written."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(32, 32), nn.Linear(32, 32)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return self.second(self.first(x)) + self.calls


def test_wrapped_weights_of_one_shape_are_kept_apart_beside_state() -> None:
    torch.manual_seed(0)
    model, x = Counting().eval(), torch.randn(3, 32)
    run = etlab.export(model, x, quantizer="int8-weights")
    torch.testing.assert_close(run.run(x), run.run(x, path="quantized"), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(run.run(x), model(x), rtol=0.1, atol=0.05)
