"""Histograms of two tensors as an SVG: the reference filled, the other a line, clipping marked."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from etlab import display

_WIDTH, _HEIGHT = 640, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 10, 10, 12, 46
_BINS = 96
_FILL, _LINE, _CLIP = "#999999", "#0072B2", "#D55E00"


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often which values come, in bins of equal width.

    Attributes:
        low: where the first bin begins.
        high: where the last one ends.
        actual: elements in every bin.
        expected: likewise, of the reference.
        clip: ends of the quantized range; None for what is not quantized.
        beyond: shares of the reference's elements below and above that range.
    """

    low: float
    high: float
    actual: tuple[int, ...]
    expected: tuple[int, ...]
    clip: tuple[float, float] | None
    beyond: tuple[float, float]


def count_values(
    actual: torch.Tensor, expected: torch.Tensor, clip: tuple[float, float] | None = None
) -> Histogram:
    """The histogram of two tensors; what is not finite is left out.

    >>> found = count_values(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 2.0]), (0.0, 1.0))
    >>> found.low, found.high, sum(found.actual), found.beyond
    (0.0, 2.0, 2, (0.0, 0.5))
    """
    left, right = (_finite(tensor) for tensor in (actual, expected))
    both = torch.cat([left, right])
    low, high = (float(both.min()), float(both.max())) if both.numel() else (0.0, 1.0)
    beyond = (0.0, 0.0)
    if clip is not None:
        low, high = min(low, clip[0]), max(high, clip[1])
        if right.numel():
            below, above = (right < clip[0]).double().mean(), (right > clip[1]).double().mean()
            beyond = (float(below), float(above))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    counts = [
        tuple(int(count) for count in torch.histc(one, _BINS, low, high)) for one in (left, right)
    ]
    return Histogram(low, high, counts[0], counts[1], clip, beyond)


def draw_histogram(histogram: Histogram, *, labels: tuple[str, str]) -> str:
    """The picture.

    Args:
        histogram: the path's values are drawn as a line, the reference's filled, the ends of the
            range dashed with the reference's shares beyond.
        labels: names of the path and of the reference.
    """
    low, high, clip = histogram.low, histogram.high, histogram.clip
    counts = [[math.sqrt(n) for n in one] for one in (histogram.actual, histogram.expected)]
    peak = max(*counts[0], *counts[1], 1.0)

    def x(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

    def y(count: float) -> float:
        return _HEIGHT - _BOTTOM - count / peak * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<path d="{_steps(counts[1], y)}Z" fill="{_FILL}" fill-opacity=".45"/>',
        f'<path d="{_steps(counts[0], y)}" fill="none" stroke="{_LINE}" stroke-width="1.4"/>',
        f'<text x="{_LEFT}" y="{_HEIGHT - _BOTTOM + 14}">{low:.4g}</text>',
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - _BOTTOM + 14}" text-anchor="end">'
        f"{high:.4g}</text>",
    ]
    if clip is not None:
        ends = zip(clip, histogram.beyond, ("start", "end"), strict=True)
        for edge, share, anchor in ends:
            shift = 4 if anchor == "start" else -4
            parts.append(
                f'<path d="M{x(edge):.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="{_CLIP}" '
                f'stroke-dasharray="4 3"/><text x="{x(edge) + shift:.1f}" y="{_TOP + 8}" '
                f'text-anchor="{anchor}" fill="{_CLIP}">{share:.2%} beyond {edge:.4g}</text>'
            )
    parts.append(
        f'<rect x="{_LEFT}" y="{_HEIGHT - 16}" width="12" height="8" fill="{_FILL}"/>'
        f'<text x="{_LEFT + 17}" y="{_HEIGHT - 8}">{display.escape(labels[1])}</text>'
        f'<rect x="{_LEFT + 120}" y="{_HEIGHT - 13}" width="12" height="3" fill="{_LINE}"/>'
        f'<text x="{_LEFT + 137}" y="{_HEIGHT - 8}">{display.escape(labels[0])}</text>'
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 8}" text-anchor="end">height: root of the '
        "count</text>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="11">{"".join(parts)}</svg>'
    )


def _finite(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.detach().reshape(-1)
    flat = torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat
    values = flat.double()
    return values[torch.isfinite(values)]


def _steps(counts: list[float], y: Callable[[float], float]) -> str:
    """A staircase from the base line over all bins."""
    width = (_WIDTH - _LEFT - _RIGHT) / len(counts)
    base = y(0.0)
    places = [f"M{_LEFT} {base:.1f}"]
    for place, count in enumerate(counts):
        height = y(count)
        places.append(f"V{height:.1f}H{_LEFT + (place + 1) * width:.1f}")
    return "".join(places) + f"V{base:.1f}"
