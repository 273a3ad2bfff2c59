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


class IntegerLayers(torch.nn.Module):
    """(1, 4, 9, 11) to two results: what delegates compute with integers, layer behind layer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.first = torch.nn.Conv2d(4, 8, 3, stride=2, padding=1)
        self.grouped = torch.nn.Conv2d(8, 12, 3, groups=4, dilation=2, padding=2, bias=False)
        self.twice = torch.nn.Conv2d(12, 24, (3, 1), groups=12, padding=(1, 0))
        self.up = torch.nn.ConvTranspose2d(24, 5, 3, stride=2, padding=1, output_padding=1)
        self.line = torch.nn.Conv1d(5, 6, 3, padding=1)
        self.head = torch.nn.Linear(6, 7)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.nn.functional.relu6(self.first(torch.nn.functional.pad(x, (0, 1, 0, 1))))
        x = self.up(torch.relu(self.twice(self.grouped(x))))
        pooled = x.mean((2, 3))
        x = self.line(x.flatten(2)).transpose(1, 2)
        return self.head(x), pooled
