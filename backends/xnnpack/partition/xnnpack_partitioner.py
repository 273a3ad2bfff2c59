"""What XNNPACK takes of a graph."""

from etlab.backends.xnnpack.partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackFloatingPointPartitioner,
    XnnpackPartitioner,
    XnnpackQuantizedPartitioner,
)

__all__ = [
    "XnnpackDynamicallyQuantizedPartitioner",
    "XnnpackFloatingPointPartitioner",
    "XnnpackPartitioner",
    "XnnpackQuantizedPartitioner",
]
