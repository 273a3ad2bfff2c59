"""How memory is planned, where ExecuTorch's documentation imports it from."""

from etlab.exir.memory.planning import MemoryPlanningPass

__all__ = ["MemoryPlanningPass"]
