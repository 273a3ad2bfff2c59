"""Lowers small models for tests."""

from typing import Any

import torch
from torch import nn

from etlab.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge


def lower(
    model: nn.Module,
    *inputs: Any,
    dynamic_shapes: Any = None,
    constant_methods: dict[str, Any] | None = None,
    **options: Any,
) -> ExecutorchProgramManager:
    """A program of `model`; `options` are those of `ExecutorchBackendConfig`."""
    exported = torch.export.export(
        model.eval(), inputs, strict=False, dynamic_shapes=dynamic_shapes
    )
    edge = to_edge(exported, constant_methods=constant_methods)
    return edge.to_executorch(ExecutorchBackendConfig(**options))


def seeded(*shape: int, seed: int = 0) -> torch.Tensor:
    """Normal values, the same every time."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Mlp(nn.Module):
    """Two linear layers with seeded weights."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(5, 7), nn.Linear(7, 3)
        with torch.no_grad():
            for seed, parameter in enumerate(self.parameters()):
                parameter.copy_(seeded(*parameter.shape, seed=seed))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).relu())


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)
