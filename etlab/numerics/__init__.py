"""Comparing what the forms of a model compute: metrics, paths, parity reports."""

from etlab.numerics.metrics import Metric, all_metrics, metric, standard_metrics
from etlab.numerics.parity import compare
from etlab.numerics.report import ParityError, ParityReport, ParityRow

__all__ = [
    "Metric",
    "ParityError",
    "ParityReport",
    "ParityRow",
    "all_metrics",
    "compare",
    "metric",
    "standard_metrics",
]
