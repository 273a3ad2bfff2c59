"""Metrics of closeness: one file a metric, found by its presence; each ends with its `METRIC`."""

import functools
import importlib
import pkgutil

from etlab.errors import NotFoundError
from etlab.numerics.metrics.base import Metric

__all__ = ["Metric", "all_metrics", "metric", "standard_metrics"]


@functools.cache
def all_metrics() -> dict[str, Metric]:
    """Every metric by name, in the order in which a table shows them."""
    found: list[Metric] = []
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        if (one := getattr(module, "METRIC", None)) is not None:
            found.append(one)
    return {one.name: one for one in sorted(found, key=lambda one: (one.rank, one.name))}


def standard_metrics() -> dict[str, Metric]:
    """The metrics that a table shows without being asked."""
    return {name: one for name, one in all_metrics().items() if one.is_standard}


def metric(name: str) -> Metric:
    """The metric `name`.

    Raises:
        NotFoundError: there is none; the message lists those that exist.
    """
    known = all_metrics()
    if name not in known:
        raise NotFoundError(f"no metric is called '{name}': choose from {', '.join(known)}")
    return known[name]
