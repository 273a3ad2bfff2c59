"""From an exported program to an edge graph; `decompose` is the entry."""

from etlab.exir.decompose.anew import take_apart
from etlab.exir.decompose.program import decompose

__all__ = ["decompose", "take_apart"]
