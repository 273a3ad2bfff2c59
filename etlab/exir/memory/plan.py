"""A memory plan: where each tensor of a method lies in its arenas, and when it is alive."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import torch

from etlab.errors import InvalidArgumentError, MemoryPlanError
from etlab.exir.memory.check import check_places
from etlab.exir.memory.interval import Interval
from etlab.exir.memory.memories import Memory


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
        uses: instructions that read or write it.
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
    uses: int = 0

    @property
    def traffic(self) -> int:
        """Bytes of it that one run reads and writes; turns of a loop count once."""
        return self.nbytes * self.uses


@dataclass(frozen=True, slots=True)
class Arena:
    """What a plan makes of one memory.

    Attributes:
        memory_id: its number in the program.
        name: "arena", or what the user called the memory.
        nbytes: what the method takes of it.
        capacity: what there is; None for any amount.
        lower_bound: the most bytes that are alive in it at one step.
        traffic: bytes that one run reads and writes in it.
        tensors: how many lie there.
    """

    memory_id: int
    name: str
    nbytes: int
    capacity: int | None
    lower_bound: int
    traffic: int
    tensors: int


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
        memories: those of the device that the user named, in the order of their ids.
        padding: bytes at the end of every arena that delegates may read.
    """

    method: str
    tensors: tuple[PlannedTensor, ...]
    arena_sizes: dict[int, int]
    alignment: int
    steps: tuple[str, ...]
    planner: str
    memories: tuple[Memory, ...] = ()
    padding: int = 0

    @property
    def peak(self) -> int:
        """Bytes of all arenas."""
        return sum(self.arena_sizes.values())

    @cached_property
    def lower_bound(self) -> int:
        """The most bytes alive at one step, of every arena: no offsets can end lower."""
        return sum(arena.lower_bound for arena in self.arenas)

    @cached_property
    def live_bytes(self) -> tuple[int, ...]:
        """Bytes alive at each step."""
        return self.live_bytes_of(self.tensors)

    @property
    def peak_step(self) -> int:
        """The first step at which most bytes are alive."""
        return self.live_bytes.index(max(self.live_bytes))

    @property
    def fragmentation(self) -> float:
        """The share of the arenas that the best conceivable plan would not need, 0 to 1."""
        return 1.0 - self.lower_bound / self.peak if self.peak else 0.0

    @cached_property
    def arenas(self) -> tuple[Arena, ...]:
        """The arenas, in the order of their ids."""
        return tuple(self._arena(memory_id) for memory_id in sorted(self.arena_sizes))

    @property
    def spilled(self) -> tuple[PlannedTensor, ...]:
        """What did not get into the first of several memories, most traffic first."""
        if len(self.memories) < 2:
            return ()
        away = (item for item in self.tensors if 1 < item.memory_id <= len(self.memories))
        return tuple(sorted(away, key=lambda item: (-item.traffic, item.id)))

    def check(self) -> None:
        """Prove that no two tensors alive together overlap, and that all fit where they lie.

        Raises:
            MemoryPlanError: the plan is not valid; the message names the tensors.
        """
        places = [
            (item.name, Interval(item.nbytes, item.first_use, item.last_use), item.memory_id,
             item.offset)
            for item in self.tensors
        ]  # fmt: skip
        check_places(places, self.arena_sizes)
        for arena in self.arenas:
            if arena.capacity is not None and arena.nbytes > arena.capacity:
                raise MemoryPlanError(
                    f"memory '{arena.name}' has {arena.capacity:,} bytes, and '{self.method}' takes"
                    f" {arena.nbytes:,} of it"
                )

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

    def live_bytes_of(
        self, tensors: Sequence[PlannedTensor], nbytes: Sequence[int] | None = None
    ) -> tuple[int, ...]:
        """Bytes alive at each step of some tensors, or of as many of other sizes."""
        change: defaultdict[int, int] = defaultdict(int)
        sizes = nbytes if nbytes is not None else [tensor.nbytes for tensor in tensors]
        for tensor, size in zip(tensors, sizes, strict=True):
            change[tensor.first_use] += size
            change[tensor.last_use + 1] -= size
        return tuple(accumulate(change[step] for step in range(max(len(self.steps), 1))))

    def _arena(self, memory_id: int) -> Arena:
        own = [tensor for tensor in self.tensors if tensor.memory_id == memory_id]
        name, capacity = "arena", None
        if memory_id <= len(self.memories):
            memory = self.memories[memory_id - 1]
            name, capacity = memory.name, memory.capacity
        elif memory_id > 1 and all(tensor.operator == "state" for tensor in own):
            name = "shared state"
        return Arena(
            memory_id=memory_id,
            name=name,
            nbytes=self.arena_sizes[memory_id],
            capacity=capacity,
            lower_bound=max(self.live_bytes_of(own)) + (self.padding if own else 0),
            traffic=sum(tensor.traffic for tensor in own),
            tensors=len(own),
        )
