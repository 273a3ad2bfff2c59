"""`etlab.llm.export_llm`, and `python -m etlab.llm.export_llm`."""

from etlab.llm.export_llm.flow import export_llm

__all__ = ["export_llm"]
