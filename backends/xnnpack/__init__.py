"""The delegate that XNNPACK runs: ExecuTorch's `XnnpackBackend`, payload for payload.

An edge graph's nodes are chosen by `partitioner.py`, translated to steps by the rules in
`operators/`, laid out by `layout.py` and written by `serialize.py` and `payload/`.
"""

from typing import Any

from etlab.backends.xnnpack.backend import XnnpackBackend
from etlab.backends.xnnpack.partitioner import (
    ConfigPrecisionType,
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackFloatingPointPartitioner,
    XnnpackPartitioner,
    XnnpackPerOpPartitioner,
    XnnpackQuantizedPartitioner,
)

__all__ = [
    "ConfigPrecisionType",
    "XNNPACKQuantizer",
    "XnnpackBackend",
    "XnnpackDynamicallyQuantizedPartitioner",
    "XnnpackFloatingPointPartitioner",
    "XnnpackPartitioner",
    "XnnpackPerOpPartitioner",
    "XnnpackQuantizedPartitioner",
    "get_symmetric_quantization_config",
]


def __getattr__(name: str) -> Any:
    """The quantizer brings torchao along, which is imported when it is asked for."""
    if name in ("XNNPACKQuantizer", "get_symmetric_quantization_config"):
        from etlab.backends.xnnpack import quantizer

        return getattr(quantizer, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
