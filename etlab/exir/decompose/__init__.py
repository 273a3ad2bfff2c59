"""From an exported program to an edge graph; `decompose` is the entry."""

from etlab.exir.decompose.program import decompose, take_apart

__all__ = ["decompose", "take_apart"]
