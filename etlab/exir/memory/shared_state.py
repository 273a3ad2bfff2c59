"""State that methods share: one arena, laid out once for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from etlab.errors import MemoryPlanError
from etlab.exir.memory.lifetimes import lifetimes_of
from etlab.exir.memory.memories import aligned
from etlab.exir.schedule import Role, Schedule, Value

DELEGATE_PADDING = 64  # at the end of an arena: delegates may read past the end of their inputs


@dataclass(frozen=True, slots=True)
class SharedState:
    """Where shared buffers lie.

    Attributes:
        offsets: in bytes, by the buffer's name.
        size: of the arena, in bytes.
    """

    offsets: dict[str, int]
    size: int


def place_shared_state(schedules: Sequence[Schedule], alignment: int) -> SharedState:
    """Lay out the state of methods that share it.

    Raises:
        MemoryPlanError: two methods have different buffers under one name.
    """
    first: dict[str, tuple[str, Value]] = {}
    offsets: dict[str, int] = {}
    end = 0
    for schedule in schedules:
        for value, interval in lifetimes_of(schedule).items():
            if value.role is not Role.STATE or value.target is None:
                continue
            method, known = first.setdefault(value.target, (schedule.name, value))
            if known.spec != value.spec:
                raise MemoryPlanError(
                    f"share_mutable_buffers: '{value.target}' is {known.spec} in method '{method}'"
                    f" and {value.spec} in '{schedule.name}'; give one of them another name"
                )
            if value is known:
                offsets[value.target] = end
                end += aligned(interval.nbytes, alignment)
    has_delegates = any(call.operator is None for one in schedules for call in one.calls)
    return SharedState(offsets, end + (DELEGATE_PADDING if has_delegates else 0))
