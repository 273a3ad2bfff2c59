"""Where eager shares memory and where it copies: questions about strides, put to eager itself.

They are asked of tensors without elements that have eager's sizes and strides; symbols count with
the sizes of the example inputs.
"""

from typing import Any

import torch

# The size of a symbol that nothing is known about: divisible by most of what a program splits by.
_UNKNOWN_SIZE = 2520


def is_view(source: torch.Tensor, result: torch.Tensor) -> bool:
    """Whether `source.reshape(result.shape)` shares memory: it does when the strides allow."""
    if tuple(source.shape) == tuple(result.shape):
        return True
    try:
        _without_elements(source).view(_numbers(result.shape))
    except RuntimeError:
        return False
    return True


def is_changed_by_to(source: torch.Tensor, memory_format: torch.memory_format | None) -> bool:
    """Whether `source.to(memory_format=memory_format)` is a copy."""
    if memory_format in (None, torch.preserve_format):
        return False
    stand_in = _without_elements(source)
    return stand_in.to(memory_format=memory_format) is not stand_in


def is_contiguous(source: torch.Tensor, memory_format: torch.memory_format) -> bool:
    """Whether `source.contiguous(memory_format=memory_format)` is the same tensor."""
    return _without_elements(source).is_contiguous(memory_format=memory_format)


def _without_elements(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(
        _numbers(tensor.shape), _numbers(tensor.stride()), dtype=tensor.dtype, device="meta"
    )


def _numbers(sizes: Any) -> list[int]:
    return [size if isinstance(size, int) else _number(size) for size in sizes]


def _number(size: torch.SymInt) -> int:
    expression = size.node.expr
    known = size.node.shape_env.backed_var_to_val
    return int(
        expression.xreplace({s: known.get(s, _UNKNOWN_SIZE) for s in expression.free_symbols})
    )
