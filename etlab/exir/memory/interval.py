"""What a planner works on: sizes and lifetimes, no graph."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """Memory needed for some time.

    Attributes:
        nbytes: bytes, already a multiple of the alignment.
        first: first step that needs it.
        last: last step that needs it, inclusive.
    """

    nbytes: int
    first: int
    last: int

    def overlaps(self, other: "Interval") -> bool:
        """Whether both are needed at some step."""
        return self.first <= other.last and other.first <= self.last


Planner = Callable[[Sequence[Interval]], list[int]]
"""A planner gives each interval an offset, so that no two overlap in both time and space."""
