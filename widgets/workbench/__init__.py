"""`Workbench`: pick a partitioner and a quantizer, lower, run, and see what changed."""

from etlab.widgets.workbench.bench import Workbench

__all__ = ["Workbench"]
