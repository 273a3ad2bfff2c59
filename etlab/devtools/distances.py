"""The distances that ExecuTorch's tools know by name, on whatever numbers a program gives."""

import math
from collections.abc import Callable
from typing import Any

import torch


def on_numbers(compute: Callable[[torch.Tensor, torch.Tensor], float], a: Any, b: Any) -> float:
    """A distance of the numbers; equal NaN and infinities agree, others give NaN or infinity."""
    wanted = torch.as_tensor(a).detach().double()
    actual = torch.as_tensor(b).detach().double()
    if wanted.shape != actual.shape:
        return math.nan
    same = (wanted == actual) | (wanted.isnan() & actual.isnan())
    error = torch.where(same, 0.0, wanted - actual)
    return compute(torch.where(same & ~wanted.isfinite(), 0.0, wanted), error)


def mean_square(_: torch.Tensor, error: torch.Tensor) -> float:
    """Mean of the squared errors; 0 of nothing."""
    return float(error.square().mean()) if error.numel() else 0.0


def sum_of_absolutes(_: torch.Tensor, error: torch.Tensor) -> float:
    """Sum of the absolute errors."""
    return float(error.abs().sum())


def signal_to_noise(wanted: torch.Tensor, error: torch.Tensor) -> float:
    """In decibels; infinite where there is no error."""
    noise = float(error.square().mean()) if error.numel() else 0.0
    signal = float(wanted.square().mean()) if wanted.numel() else 0.0
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 else -math.inf
