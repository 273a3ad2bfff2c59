"""A memory plan: where each tensor of a method lies in its arenas, and when it is alive."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import torch

from etlab.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """One tensor with memory of its own.

    Attributes:
        id: its place among the plan's tensors.
        name: of the node or buffer.
        operator: what computes it; "input" or "state" where nothing does.
        module: the model's module it belongs to, as a path; may be empty.
        source: file and line of the model's code; may be empty.
        nbytes: bytes it takes, aligned.
        dtype: element type.
        shape: largest sizes.
        memory_id: the arena, from 1.
        offset: bytes from the arena's start.
        first_use: the step that writes it.
        last_use: the last step that needs it, inclusive.
    """

    id: int
    name: str
    operator: str
    module: str
    source: str
    nbytes: int
    dtype: torch.dtype
    shape: tuple[int, ...]
    memory_id: int
    offset: int
    first_use: int
    last_use: int


@dataclass(frozen=True)
class MemoryPlan:
    """The memory of one method.

    Attributes:
        method: its name.
        tensors: all tensors of its arenas.
        arena_sizes: bytes of each arena by memory id.
        alignment: of every offset.
        steps: the instructions; uses count in them.
        planner: name of the algorithm.
    """

    method: str
    tensors: tuple[PlannedTensor, ...]
    arena_sizes: dict[int, int]
    alignment: int
    steps: tuple[str, ...]
    planner: str

    @property
    def peak(self) -> int:
        """Bytes of all arenas."""
        return sum(self.arena_sizes.values())

    @cached_property
    def lower_bound(self) -> int:
        """The most bytes that are alive at one step: no plan of this order can take less."""
        return max(self.live_bytes, default=0)

    @cached_property
    def live_bytes(self) -> tuple[int, ...]:
        """Bytes alive at each step."""
        change: defaultdict[int, int] = defaultdict(int)
        for tensor in self.tensors:
            change[tensor.first_use] += tensor.nbytes
            change[tensor.last_use + 1] -= tensor.nbytes
        live, result = 0, []
        for step in range(max(len(self.steps), 1)):
            live += change[step]
            result.append(live)
        return tuple(result)

    @property
    def fragmentation(self) -> float:
        """The share of the arenas that the best conceivable plan would not need, 0 to 1."""
        return 1.0 - self.lower_bound / self.peak if self.peak else 0.0

    def at(self, step: int) -> tuple[PlannedTensor, ...]:
        """The tensors alive at a step, by arena and offset.

        Raises:
            InvalidArgumentError: there is no such step.
        """
        if not 0 <= step < max(len(self.steps), 1):
            raise InvalidArgumentError(
                f"step {step} does not exist; '{self.method}' has steps 0 to {len(self.steps) - 1}"
            )
        live = (item for item in self.tensors if item.first_use <= step <= item.last_use)
        return tuple(sorted(live, key=lambda item: (item.memory_id, item.offset, item.id)))
