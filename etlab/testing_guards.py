"""Memory that notices what is written beside it."""

from collections.abc import Sequence

import torch

_GUARD_BYTES = 64  # around every output: a kernel that writes outside of it is caught
_POISON = 0xA5


class GuardedOutput:
    """Poisoned memory for one output between guard bytes.

    Args:
        like: the expected output.
        follow_strides: order the dimensions in memory as `like` does, not row-major.
        is_bound: give the output larger sizes than expected, as a method with dynamic shapes does;
            the kernel has to shrink it.
    """

    def __init__(self, like: torch.Tensor, *, follow_strides: bool, is_bound: bool) -> None:
        self._like = like
        self._order = list(range(like.dim()))
        if follow_strides:
            self._order.sort(key=like.stride, reverse=True)
        initial = [size + 1 for size in like.shape] if is_bound else list(like.shape)
        count = 1
        for size in initial:
            count *= size
        width = like.element_size()
        self._memory = torch.full((count * width + 2 * _GUARD_BYTES,), _POISON, dtype=torch.uint8)
        self._flat = self._memory[_GUARD_BYTES : _GUARD_BYTES + count * width].view(like.dtype)
        self.tensor = self._flat.as_strided(initial, self._strides(initial))

    def _strides(self, sizes: Sequence[int]) -> list[int]:
        strides, step = [0] * len(sizes), 1
        for dim in reversed(self._order):
            strides[dim] = step
            step *= max(sizes[dim], 1)
        return strides

    def check_guards(self, what: str) -> None:
        """Assert that nothing was written beside the output."""
        guards = torch.cat([self._memory[:_GUARD_BYTES], self._memory[-_GUARD_BYTES:]])
        assert bool((guards == _POISON).all()), f"{what}: wrote outside of the output"

    def result(self, sizes: list[int], what: str) -> torch.Tensor:
        """What the kernel left; checks the guards and the sizes."""
        self.check_guards(what)
        assert sizes == list(self._like.shape), f"{what}: size {sizes}, not {self._like.shape}"
        return self._flat.as_strided(sizes, self._strides(sizes))
