"""What a comparison was made on: a description in words, and whether it looks like noise."""

from collections.abc import Sequence
from typing import Any

import torch

_ENOUGH = 256  # entries below which no statistics are made


def _tensors(value: Any) -> list[torch.Tensor]:
    from torch.utils import _pytree

    return [leaf for leaf in _pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def describe(samples: Sequence[Any]) -> str:
    """The samples in words, the same words for the same data.

    >>> describe([(torch.zeros(1, 3),)])
    '1 sample of (1, 3) float32 in [0, 0]'
    """
    count = f"{len(samples)} sample" + ("" if len(samples) == 1 else "s")
    parts = []
    for tensor in _tensors(samples[0]) if samples else []:
        text = f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
        if tensor.numel() and not tensor.is_complex():
            low, high = (float(edge) for edge in (tensor.double().min(), tensor.double().max()))
            text += f" in [{low:.4g}, {high:.4g}]"
        parts.append(text)
    return f"{count} of {', '.join(parts)}" if parts else f"{count} without tensors"


def looks_like_noise(tensor: torch.Tensor) -> bool:
    """Whether `tensor` has the marks of `torch.randn` or `torch.rand`.

    Neighbours along every dimension are uncorrelated, and the fourth moment is that of a normal or
    a uniform distribution. Integers, short tensors and constants never are.
    """
    if not tensor.is_floating_point() or tensor.numel() < _ENOUGH:
        return False
    values = tensor.detach().double()
    if not bool(torch.isfinite(values).all()):
        return False
    values = values - values.mean()
    variance = float(values.square().mean())
    if variance == 0.0:
        return False
    count = tensor.numel()
    kurtosis = float(values.pow(4).mean()) / variance**2
    slack = 5 / count**0.5
    # The fourth moment of n normal values strays by about 5 / sqrt(n), of uniform ones by less.
    if abs(kurtosis - 3.0) > 5 * slack and abs(kurtosis - 1.8) > slack:
        return False
    for dim, size in enumerate(values.shape):
        if size < 2:
            continue
        left, right = values.narrow(dim, 0, size - 1), values.narrow(dim, 1, size - 1)
        if abs(float((left * right).mean())) / variance > 5 / left.numel() ** 0.5:
            return False
    return True


def warnings_about(samples: Sequence[Any]) -> list[str]:
    """Sentences about data that cannot prove much."""
    found = []
    tensors = [tensor for sample in samples for tensor in _tensors(sample)]
    if any(looks_like_noise(tensor) for tensor in tensors):
        found.append(
            "the inputs look like random noise, which hides faults of quantization and layout: "
            "compare on real data before you trust these numbers"
        )
    floats = [tensor for tensor in tensors if tensor.is_floating_point() and tensor.numel()]
    if floats and all(bool((tensor == tensor.reshape(-1)[0]).all()) for tensor in floats):
        found.append("every input is constant: most faults cannot show on such data")
    return found
