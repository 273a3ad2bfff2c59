"""Where a program computes a tensor."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A tensor that a program computes.

    Attributes:
        step: the instruction that writes it.
        value: index of the program's value, or a delegate's number of a value inside of it.
        is_inside: whether it lies between the nodes of a delegate.
    """

    step: int
    value: int
    is_inside: bool = False
