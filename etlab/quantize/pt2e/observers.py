"""Observers by name: torchao's where it has one, ours for percentiles and least squared error."""

from collections.abc import Callable
from typing import Any

import torch

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.quantize.base import quiet_imports

with quiet_imports():
    from torchao.quantization.pt2e import (
        HistogramObserver,
        MinMaxObserver,
        MovingAverageMinMaxObserver,
        PerChannelMinMaxObserver,
    )

_STEPS = 24  # candidates of the search for the least error, from the whole range down
_SMALLEST_SHARE = 0.3  # of the range that the search still looks at
_SAMPLED = 4096  # values that an observer keeps of one tensor


class PercentileObserver(MinMaxObserver):  # type: ignore[misc]
    """The mean of every tensor's range without its farthest values.

    Args:
        percentile: how much of the values the range holds, in percent; the rest saturates,
            half of it at either end.
    """

    def __init__(self, *, percentile: float = 99.9, **options: Any) -> None:
        if not 50 < percentile <= 100:
            raise InvalidArgumentError(
                f"percentile: expected more than 50 and at most 100, got {percentile}"
            )
        super().__init__(**options)
        self.percentile = percentile
        self.seen = 0

    def forward(self, x_orig: torch.Tensor) -> torch.Tensor:
        """Look at a tensor, and pass it on."""
        if x_orig.numel() == 0:
            return x_orig
        values = x_orig.detach().to(self.min_val.dtype).reshape(-1)
        outside = int((100 - self.percentile) / 200 * (values.numel() - 1))
        low = values.topk(outside + 1, largest=False, sorted=False).values.max()
        high = values.topk(outside + 1, sorted=False).values.min()
        self.seen += 1
        old_low, old_high = (low, high) if self.seen == 1 else (self.min_val, self.max_val)
        self.min_val.copy_(old_low + (low - old_low) / self.seen)
        self.max_val.copy_(old_high + (high - old_high) / self.seen)
        return x_orig


class MSEObserver(MinMaxObserver):  # type: ignore[misc]
    """The part of the range that makes the squared error of the values seen the least.

    Keeps an evenly spaced part of every tensor, so memory is bounded by the number of tensors.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.kept: list[torch.Tensor] = []

    def forward(self, x_orig: torch.Tensor) -> torch.Tensor:
        """Look at a tensor, and pass it on."""
        values = x_orig.detach().to(self.min_val.dtype).reshape(-1)
        if values.numel():
            self.kept.append(values[:: max(1, values.numel() // _SAMPLED)].clone())
        super().forward(x_orig)
        return x_orig

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Scale and zero point of the best range, float32 and integer, of one element each."""
        if not self.kept:
            best: tuple[torch.Tensor, torch.Tensor] = super().calculate_qparams()
            return best
        values = torch.cat(self.kept).reshape(1, -1)
        return _least_error(self, values, self.min_val.reshape(1), self.max_val.reshape(1))


class PerChannelMSEObserver(PerChannelMinMaxObserver):  # type: ignore[misc]
    """The same for every channel of a weight by itself."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.weight: torch.Tensor | None = None

    def forward(self, x_orig: torch.Tensor) -> torch.Tensor:
        """Look at a weight, and pass it on."""
        self.weight = x_orig.detach()
        super().forward(x_orig)
        return x_orig

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Scales and zero points, (channels,)."""
        if self.weight is None:
            best: tuple[torch.Tensor, torch.Tensor] = super().calculate_qparams()
            return best
        values = self.weight.movedim(self.ch_axis, 0).flatten(1)
        return _least_error(self, values, self.min_val, self.max_val)


def _least_error(
    observer: Any, values: torch.Tensor, low: torch.Tensor, high: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The scales and zero points, among those of smaller and smaller ranges, that err least.

    Args:
        observer: makes scales of ranges.
        values: (rows, values of a row).
        low: the least value of a row, (rows,).
        high: the largest.
    """
    best: list[torch.Tensor] = []
    for step in range(_STEPS + 1):
        share = 1 - (1 - _SMALLEST_SHARE) * step / _STEPS
        scale, zero = observer._calculate_qparams(low * share, high * share)
        shift = zero.unsqueeze(1).to(values.dtype)
        steps = torch.round(values / scale.unsqueeze(1)) + shift
        steps = steps.clamp(observer.quant_min, observer.quant_max) - shift
        error = (steps * scale.unsqueeze(1) - values).square().sum(1)
        if not best:
            best = [error, scale, zero]
            continue
        is_better = error < best[0]
        best = [
            torch.where(is_better, a, b) for a, b in zip((error, scale, zero), best, strict=True)
        ]
    return best[1], best[2]


_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "min-max": MinMaxObserver,
    "moving-average": MovingAverageMinMaxObserver,
    "histogram": HistogramObserver,
    "percentile": PercentileObserver,
    "mse": MSEObserver,
}
_WEIGHTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "min-max": (MinMaxObserver, PerChannelMinMaxObserver),
    "mse": (MSEObserver, PerChannelMSEObserver),
}


def activation_observer(name: str) -> Any:
    """The class of an observer of activations.

    Raises:
        NotFoundError: no observer has that name.
    """
    return _find("activation", name, _ACTIVATIONS)


def weight_observer(name: str, *, is_per_channel: bool) -> Any:
    """The class of an observer of weights.

    Raises:
        NotFoundError: no observer has that name.
    """
    return _find("weight", name, _WEIGHTS)[1 if is_per_channel else 0]


def _find(what: str, name: str, known: dict[str, Any]) -> Any:
    if name not in known:
        raise NotFoundError(
            f"no {what} observer is called '{name}': choose from {', '.join(known)}"
        )
    return known[name]
