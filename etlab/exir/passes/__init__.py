"""The rewrites of the compiler, one a file; `pipeline.py` says which run by default."""

from etlab.exir.memory.planning import MemoryPlanningPass

__all__ = ["MemoryPlanningPass"]
