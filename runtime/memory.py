"""What a loaded method holds of the machine's memory."""

from dataclasses import dataclass
from typing import Any

from etlab.runtime import _native


@dataclass(frozen=True, slots=True)
class ArenaMemory:
    """One arena of a method.

    Attributes:
        nbytes: its bytes.
        is_shared: whether other methods of the program use the same memory.
    """

    nbytes: int
    is_shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodMemory:
    """The bytes that a method asked the system for and holds, without headers of the allocator.

    The program's file, the threads and the bookkeeping of delegates (their names, shapes and tables
    of offsets) are not among them.

    Attributes:
        arenas: planned memory, by memory id from 1.
        outputs: of outputs that the program left to the caller.
        inputs: copies of inputs that came in another layout.
        structures: the method itself: tables of values and instructions.
        temporary: what kernels took at most at once, in the runs so far.
        delegate_workspace: intermediate values and scratch of delegates.
        packed_weights: of delegates; methods that share them count them each.
        delegate_buffers: other buffers of delegates.
        alignment: spent on beginning buffers at cache lines.
    """

    arenas: tuple[ArenaMemory, ...]
    outputs: int = 0
    inputs: int = 0
    structures: int = 0
    temporary: int = 0
    delegate_workspace: int = 0
    packed_weights: int = 0
    delegate_buffers: int = 0
    alignment: int = 0

    @property
    def planned(self) -> int:
        """Bytes of all arenas."""
        return sum(arena.nbytes for arena in self.arenas)

    @property
    def total(self) -> int:
        """The sum."""
        return (
            self.planned
            + self.outputs
            + self.inputs
            + self.structures
            + self.temporary
            + self.delegate_workspace
            + self.packed_weights
            + self.delegate_buffers
            + self.alignment
        )


def memory_of(method: _native.Method) -> MethodMemory:
    """What a native method holds now."""
    return memory_from(method.memory())


def memory_from(found: dict[str, Any]) -> MethodMemory:
    """From what native code counted."""
    fields = dict(found)
    arenas = tuple(ArenaMemory(nbytes, is_shared) for nbytes, is_shared in fields.pop("arenas"))
    return MethodMemory(arenas=arenas, **fields)
