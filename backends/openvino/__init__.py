"""Intel's OpenVINO as a delegate: ExecuTorch's `OpenvinoBackend`, its blob and its options.

The package `openvino` compiles (`backend.py`) and its shared library runs (`runtime/`); both are
looked for when they are needed (`package.py`), so that everything else works without them.
"""

from etlab.backends.openvino.backend import OpenvinoBackend
from etlab.backends.openvino.partitioner import OpenvinoPartitioner

__all__ = ["OpenvinoBackend", "OpenvinoPartitioner"]
