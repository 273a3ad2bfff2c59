"""Language models: definitions, checkpoints, and the way from a checkpoint to a program.

path = etlab.llm.export_llm({"base": {...}, "model": {...}, ...})
"""

from etlab.llm.export_llm import export_llm

__all__ = ["export_llm"]
