"""From an exported program to an edge graph; `decompose` is the entry."""

from etlab.exir.decompose.program import decompose

__all__ = ["decompose"]
