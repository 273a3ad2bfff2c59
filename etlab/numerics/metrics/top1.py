"""How often the largest entry of the last dimension is the same one."""

import torch

from etlab.numerics.metrics.base import Metric, Tensors


def top1(actual: Tensors, reference: Tensors) -> float | None:
    """Share of rows along the last dimension whose arg max agrees.

    A row in which the reference's largest value stands several times agrees with any of those
    places. None for scalars, rows of one entry, complex and boolean outputs.
    """
    agreed, rows = 0, 0
    for left, right in zip(actual, reference, strict=True):
        if right.dim() == 0 or right.shape[-1] < 2 or right.is_complex():
            return None
        if right.dtype == torch.bool or right.numel() == 0:
            return None
        chosen = left.detach().double().argmax(dim=-1, keepdim=True)
        reference_row = right.detach().double()
        best = reference_row.amax(dim=-1, keepdim=True)
        hit = reference_row.gather(-1, chosen)
        agreed += int(((hit == best) | (hit.isnan() & best.isnan())).sum())
        rows += chosen.numel()
    return agreed / rows if rows else None


METRIC = Metric("top1", "top-1 agreement", top1, True, "{:.1%}", rank=40, is_standard=True)
