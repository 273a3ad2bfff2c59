"""Kullback-Leibler divergence of the distributions that the last dimension stands for."""

import math

import torch

from etlab.numerics.metrics.base import Metric, Tensors


def kl(actual: Tensors, reference: Tensors) -> float | None:
    """The mean `KL(softmax(reference) ‖ softmax(actual))` over rows of the last dimension, in nats.

    None for what is no logits: scalars, rows of one entry, integers, complex numbers. Infinite
    where the actual rows are not finite.
    """
    total, rows = 0.0, 0
    for left, right in zip(actual, reference, strict=True):
        if right.dim() == 0 or right.shape[-1] < 2 or not right.is_floating_point():
            return None
        if not right.numel():
            return None
        expected = right.detach().double().log_softmax(dim=-1)
        found = left.detach().double().log_softmax(dim=-1)
        share = torch.where(expected > -math.inf, expected.exp() * (expected - found), 0.0)
        each = share.sum(dim=-1)
        if bool(torch.isnan(each).any()):
            return math.inf
        total += float(each.sum())
        rows += each.numel()
    return max(0.0, total / rows) if rows else None


METRIC = Metric("kl", "KL (nats)", kl, False, "{:.2e}", rank=70)
