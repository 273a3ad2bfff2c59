"""The delegate that XNNPACK runs: ExecuTorch's `XnnpackBackend`, payload for payload.

An edge graph's nodes are chosen by `partitioner.py`, translated to steps by the rules in
`operators/`, laid out by `layout.py` and written by `serialize.py` and `payload/`.
"""

from etlab.backends.xnnpack.backend import XnnpackBackend
from etlab.backends.xnnpack.partitioner import (
    ConfigPrecisionType,
    XnnpackFloatingPointPartitioner,
    XnnpackPartitioner,
    XnnpackPerOpPartitioner,
)

__all__ = [
    "ConfigPrecisionType",
    "XnnpackBackend",
    "XnnpackFloatingPointPartitioner",
    "XnnpackPartitioner",
    "XnnpackPerOpPartitioner",
]
