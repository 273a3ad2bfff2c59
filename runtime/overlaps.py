"""Whether inputs that a program updates in place share memory."""

import itertools
from collections.abc import Collection, Sequence
from typing import Any

import torch

from etlab.errors import InvalidArgumentError
from etlab.runtime.tensors import is_plain


def check_apart(updated: Collection[int], values: Sequence[Any], method: str) -> None:
    """Refuse inputs that a program updates in place when others share their memory.

    A program reads the others as they were before the run; eager would see the update.

    Args:
        updated: the places of those inputs; places that are none are left out.
        values: all inputs; what `is_plain` is not is left out.
        method: its name, for errors.

    Raises:
        InvalidArgumentError: the elements of an updated one overlap, or another one overlaps it.
    """
    if not updated:
        return
    tensors = {place: one for place, one in enumerate(values) if is_plain(one)}
    read = {place: one for place, one in tensors.items() if place not in updated}
    tensors = {place: one for place, one in tensors.items() if place in updated}
    for place, tensor in tensors.items():
        if _overlaps_itself(tensor):
            raise InvalidArgumentError(
                f"method '{method}', input {place}: the model updates it in place, but several"
                " elements of this tensor share memory (as_strided made it); give value.clone()"
            )
    for (first, one), (second, other) in itertools.combinations(tensors.items(), 2):
        if _share_elements(one, other):
            raise InvalidArgumentError(
                f"method '{method}', inputs {first} and {second}: the model updates both in place,"
                " but they share memory; give one of them as value.clone()"
            )
    for (first, one), (second, other) in itertools.product(tensors.items(), read.items()):
        if _share_elements(one, other):
            raise InvalidArgumentError(
                f"method '{method}', inputs {first} and {second}: the model updates the first in"
                " place and reads the second, but they share memory, and a program reads what was"
                f" there before the run; give input {second} as value.clone()"
            )


def _overlaps_itself(tensor: torch.Tensor) -> bool:
    reach = 0  # of the dimensions seen so far: the last element's distance from the first
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride <= reach:
            return int(_touched(tensor, *_extent(tensor)).sum()) < tensor.nbytes
        reach += stride * (size - 1)
    return False


def _share_elements(one: torch.Tensor, other: torch.Tensor) -> bool:
    (begin, end), (other_begin, other_end) = _extent(one), _extent(other)
    if begin >= other_end or other_begin >= end:
        return False
    whole = min(begin, other_begin), max(end, other_end)
    return bool((_touched(one, *whole) & _touched(other, *whole)).any())


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The addresses of a tensor's first byte and of the one after its last."""
    begin = tensor.data_ptr()
    if tensor.numel() == 0:
        return begin, begin
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    last = sum((size - 1) * stride for size, stride in steps)
    return begin, begin + (last + 1) * tensor.itemsize


def _touched(tensor: torch.Tensor, begin: int, end: int) -> torch.Tensor:
    """Which bytes of [begin, end) the tensor's elements stand in: bool, (end - begin)."""
    touched = torch.zeros(end - begin, dtype=torch.bool)
    strides = [stride * tensor.itemsize for stride in tensor.stride()]
    sizes = (*tensor.shape, tensor.itemsize)
    places = torch.arange(end - begin).as_strided(sizes, (*strides, 1), tensor.data_ptr() - begin)
    touched[places.flatten()] = True
    return touched
