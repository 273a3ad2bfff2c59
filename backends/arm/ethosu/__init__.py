"""Arm's Ethos-U as a delegate: ExecuTorch's `EthosUBackend`, its stream and its options.

Read `compile_spec.py` (which NPU in which system), `limits.py` (what it refuses), `vela.py` (its
compiler, a child process), `stream.py` (what a program stores), `report.py` (what Vela expects).
"""

from etlab.backends.arm.ethosu.backend import EthosUBackend
from etlab.backends.arm.ethosu.compile_spec import EthosUCompileSpec, VelaExternalBlockPlacements
from etlab.backends.arm.ethosu.partitioner import (
    EthosU55Partitioner,
    EthosU85Partitioner,
    EthosUPartitioner,
)

__all__ = [
    "EthosU55Partitioner",
    "EthosU85Partitioner",
    "EthosUBackend",
    "EthosUCompileSpec",
    "EthosUPartitioner",
    "VelaExternalBlockPlacements",
]
