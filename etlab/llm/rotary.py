"""Rotary positions: tables of cosines and sines, and the turning itself."""

import math

import torch

from etlab.llm.architecture import LinearScaling, Llama3Scaling, LongScaling, Rotary


def rotary_tables(rotary: Rotary, context: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of every position.

    Args:
        rotary: which positions.
        context: how many.

    Returns:
        Two (context, rotary.width) tensors, float32. The sines of the first half are negative: see
        `turn`.
    """
    rates = rotary.base ** (-torch.arange(0, rotary.width, 2).double() / rotary.width)
    rates, size = _scaled(rates, rotary, context)
    angles = torch.outer(torch.arange(context).double(), rates)
    cosine, sine = angles.cos() * size, angles.sin() * size
    return torch.cat((cosine, cosine), -1).float(), torch.cat((-sine, sine), -1).float()


def _scaled(rates: torch.Tensor, rotary: Rotary, context: int) -> tuple[torch.Tensor, float]:
    """Turns a token, scaled, and what cosines and sines are multiplied by."""
    match rotary.scaling:
        case Llama3Scaling(factor, low, high, original):
            turns = rates * original / (2 * math.pi)  # of a pair over the original context
            kept = ((turns - low) / (high - low)).clamp(0, 1)
            return rates * (kept + (1 - kept) / factor), 1.0
        case LinearScaling(factor):
            return rates / factor, 1.0
        case LongScaling() as scaling:
            factors = scaling.long if context > scaling.original_context else scaling.short
            return rates / torch.tensor(factors, dtype=torch.float64), _attention(scaling)
    return rates, 1.0


def _attention(scaling: LongScaling) -> float:
    if scaling.attention is not None:
        return scaling.attention
    longer = scaling.longest / scaling.original_context
    return math.sqrt(1 + math.log(longer) / math.log(scaling.original_context)) if longer > 1 else 1


def turn(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """Turn the first columns of heads by the angles of their positions.

    Args:
        x: (batch, length, heads, head_width).
        cosine: (length, 1, width), width <= head_width.
        sine: alike, negative in the first half.
    """
    width = cosine.shape[-1]
    turning = x if width == x.shape[-1] else x[..., :width]
    half = width // 2
    swapped = torch.cat((turning[..., half:], turning[..., :half]), dim=-1)
    turned = turning * cosine + swapped * sine
    return turned if width == x.shape[-1] else torch.cat((turned, x[..., width:]), dim=-1)
