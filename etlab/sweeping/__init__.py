"""Sweeps over partitioners and quantizers: cached, resumable, in parallel, with Pareto fronts."""

from etlab.sweeping.door import sweep
from etlab.sweeping.objectives import Objective, latency
from etlab.sweeping.report import Sweep, SweepRow

__all__ = ["Objective", "Sweep", "SweepRow", "latency", "sweep"]
