"""How far two tensors are apart, in steps of integers and as shares of the reference."""

import torch

from etlab.numerics.layers import StepCounts
from etlab.numerics.metrics.base import finite_pair


def count_steps(actual: torch.Tensor, expected: torch.Tensor) -> StepCounts:
    """How many integers are how many steps apart.

    >>> str(count_steps(torch.tensor([1, 2, 3, 9]), torch.tensor([1, 2, 4, 4])))
    '50.00% equal, 25.00% off by one, 25.00% by up to 5'
    """
    distance = (actual.to(torch.int64) - expected.to(torch.int64)).abs()
    equal, one = int((distance == 0).sum()), int((distance == 1).sum())
    largest = int(distance.max()) if distance.numel() else 0
    return StepCounts(equal, one, distance.numel() - equal - one, largest)


def distances(actual: torch.Tensor, expected: torch.Tensor) -> tuple[float, float]:
    """Length and largest entry of the difference, as shares of the reference's."""
    pair = finite_pair([actual], [expected])
    if pair.broken:
        return float("inf"), float("inf")
    noise = (pair.actual - pair.reference).abs()
    if not noise.numel() or not float(noise.max()):
        return 0.0, 0.0
    length, largest = float(pair.reference.norm()), float(pair.reference.abs().max())
    if not largest:
        return float("inf"), float("inf")
    return float(noise.norm()) / length, float(noise.max()) / largest
