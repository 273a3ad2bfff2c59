"""`etlab.report`: results as one page that needs nothing else, and the same numbers as JSON."""

from etlab.reporting.door import report

__all__ = ["report"]
