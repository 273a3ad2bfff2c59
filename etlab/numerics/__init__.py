"""Comparing what the forms of a model compute: metrics, paths, parity reports."""

from etlab.numerics.divergence import Divergence
from etlab.numerics.layer_parity import compare_layers
from etlab.numerics.layer_report import LayerReport
from etlab.numerics.layers import Closeness, Coverage, LayerRow, StepCounts
from etlab.numerics.metrics import Metric, all_metrics, metric, standard_metrics
from etlab.numerics.parity import compare
from etlab.numerics.report import ParityError, ParityReport, ParityRow
from etlab.numerics.tensor_pair import TensorPair

__all__ = [
    "Closeness",
    "Coverage",
    "Divergence",
    "LayerReport",
    "LayerRow",
    "Metric",
    "ParityError",
    "ParityReport",
    "ParityRow",
    "StepCounts",
    "TensorPair",
    "all_metrics",
    "compare",
    "compare_layers",
    "metric",
    "standard_metrics",
]
