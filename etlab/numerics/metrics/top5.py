"""How much the five largest entries of the last dimension are the same ones."""

import torch

from etlab.numerics.metrics.base import Metric, Tensors

_COUNT = 5


def top5(actual: Tensors, reference: Tensors) -> float | None:
    """The mean share of the reference's five largest entries that are among the actual five.

    An entry counts as well when its reference is as large as the fifth. None for rows of five
    entries or fewer, complex and boolean outputs.
    """
    share, rows = 0.0, 0
    for left, right in zip(actual, reference, strict=True):
        if right.dim() == 0 or right.shape[-1] <= _COUNT or right.is_complex():
            return None
        if right.dtype == torch.bool or right.numel() == 0:
            return None
        chosen = left.detach().double().topk(_COUNT, dim=-1).indices
        truth = right.detach().double()
        fifth = truth.topk(_COUNT, dim=-1).values[..., -1:]
        hits = (truth.gather(-1, chosen) >= fifth).double().mean(dim=-1)
        share += float(hits.sum())
        rows += hits.numel()
    return share / rows if rows else None


METRIC = Metric("top5", "top-5 overlap", top5, True, "{:.1%}", rank=42)
