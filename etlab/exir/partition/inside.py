"""What is inside of a delegate's bytes, for those who look at numbers between its nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch


@dataclass(frozen=True, slots=True)
class InsideValue:
    """A value between the nodes of a delegate.

    Attributes:
        number: the backend's own.
        dtype: of its elements as they would cross the delegate's border; None for what cannot.
        sizes: as they lie in memory, outermost first; upper bounds where they vary.
    """

    number: int
    dtype: torch.dtype | None
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InsideNode:
    """A node of a delegate.

    Attributes:
        index: its place in the delegate.
        kind: as the backend calls it.
        inputs: numbers of the values it reads that are no constants.
        outputs: numbers of the values it writes.
    """

    index: int
    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Inside(Protocol):
    """The content of a delegate's bytes; new bytes can be made that compute a part of it."""

    @property
    def nodes(self) -> Sequence[InsideNode]:
        """In the order of execution."""

    @property
    def values(self) -> Mapping[int, InsideValue]:
        """Every value that is no constant, by number."""

    @property
    def inputs(self) -> Mapping[int, int]:
        """Values that are inputs of the delegate, to the places of its arguments."""

    @property
    def outputs(self) -> Mapping[int, int]:
        """Values that are outputs of the delegate, to the places of its arguments."""

    def tapped(self, values: Sequence[int]) -> bytes:
        """The same delegate with more outputs: `values`, behind those it has.

        They must not be inputs or outputs already.
        """

    def excerpt(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """A delegate that computes `outputs` from `inputs` with the nodes between them."""
