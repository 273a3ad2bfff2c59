"""Arm's NPUs: TOSA, the operators that they compute with integers, its reference model, Ethos-U.

`lowering.py` turns a quantized edge graph into a TOSA graph; it needs no package of Arm's. The
package tosa-tools runs such graphs, to the bit as the specification says; ethos-u-vela compiles
them for Ethos-U (`ethosu/`).
"""

from etlab.backends.arm.ethosu import (
    EthosU55Partitioner,
    EthosU85Partitioner,
    EthosUBackend,
    EthosUCompileSpec,
    EthosUPartitioner,
)
from etlab.backends.arm.tosa.backend import TOSABackend
from etlab.backends.arm.tosa.compile_spec import TosaCompileSpec
from etlab.backends.arm.tosa.partitioner import TOSAPartitioner

__all__ = [
    "EthosU55Partitioner",
    "EthosU85Partitioner",
    "EthosUBackend",
    "EthosUCompileSpec",
    "EthosUPartitioner",
    "TOSABackend",
    "TOSAPartitioner",
    "TosaCompileSpec",
]
