"""Models that tests of several parts run."""

import torch


class Mlp(torch.nn.Module):
    """Two linear layers, (n, 5) to (n, 3), with seeded weights."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(5, 7)
        self.second = torch.nn.Linear(7, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


class Counter(torch.nn.Module):
    """Adds what it is given to a buffer that begins at 3."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.full((3,), 3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return self.total + 0.0
